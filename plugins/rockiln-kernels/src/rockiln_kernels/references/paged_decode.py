"""paged_decode and paged_decode_fp8 in float64."""

from __future__ import annotations

import numpy as np

from rockiln_kernels.references.arrays import Array, Arrays, Scalars, widen
from rockiln_kernels.references.attention import attend, see_keys


def gather_tokens(cache: Array, table: Array, count: int) -> Array:
    """The first `count` tokens of one sequence, of a cache [NB, BS, ...]."""
    place = np.arange(count)
    tokens: Array = cache[table[place // cache.shape[1]], place % cache.shape[1]]
    return tokens


def paged_decode(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"out" [B, L, HQ, D], "lse" [B, L, HQ]}; a scale that is absent is 1."""
    q = widen(arrays["q"])
    out, lse = np.zeros(q.shape), np.zeros(q.shape[:3])
    scales = [float(arrays[name][0]) if name in arrays else 1.0 for name in ("k_scale", "v_scale")]
    for place, count in enumerate(arrays["context_lens"].tolist()):
        own = [gather_tokens(arrays[f"{name}_cache"], arrays["block_tables"][place], count) for name in "kv"]
        k, v = (widen(tokens) * scale for tokens, scale in zip(own, scales, strict=True))
        seen = see_keys(q.shape[1], count, is_causal=True, window_left=scalars["window_left"])
        for head in range(q.shape[2]):
            own_head = head * k.shape[1] // q.shape[2]
            sink = float(arrays["sinks"][head]) if "sinks" in arrays else None
            result = attend(q[place, :, head], k[:, own_head], v[:, own_head], scalars["scale"], seen, sink)
            out[place, :, head], lse[place, :, head] = result
    return {"out": out, "lse": lse}


REFERENCES = {"paged_decode": paged_decode, "paged_decode_fp8": paged_decode}
