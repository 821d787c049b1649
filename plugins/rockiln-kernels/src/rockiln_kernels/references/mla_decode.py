"""mla_decode and mla_decode_fp8 in float64."""

from __future__ import annotations

import numpy as np

from rockiln_kernels.references.arrays import Arrays, Scalars, widen
from rockiln_kernels.references.attention import attend, see_keys
from rockiln_kernels.references.paged_decode import gather_tokens

_LATENT = 512


def mla_decode(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"out" [B, L, H, 512], "lse" [B, L, H]}; a scale that is absent is 1."""
    q = widen(arrays["q"])
    out, lse = np.zeros((*q.shape[:3], _LATENT)), np.zeros(q.shape[:3])
    scale = float(arrays["cache_scale"][0]) if "cache_scale" in arrays else 1.0
    for place, count in enumerate(arrays["context_lens"].tolist()):
        tokens = widen(gather_tokens(arrays["cache"], arrays["block_tables"][place], count)) * scale
        seen = see_keys(q.shape[1], count, is_causal=True, window_left=-1)
        for head in range(q.shape[2]):
            result = attend(q[place, :, head], tokens, tokens[:, :_LATENT], scalars["scale"], seen, None)
            out[place, :, head], lse[place, :, head] = result
    return {"out": out, "lse": lse}


REFERENCES = {"mla_decode": mla_decode, "mla_decode_fp8": mla_decode}
