"""attention_prefill in float64."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from rockiln_kernels.references.arrays import Array, Arrays, Scalars, widen
from rockiln_kernels.references.attention import attend, see_keys


def list_sequences(arrays: Arrays) -> Iterator[tuple[slice, slice]]:
    """Queries and keys of each sequence."""
    starts = (pairwise(arrays[name].tolist()) for name in ("cu_seqlens_q", "cu_seqlens_k"))
    for rows, keys in zip(*starts, strict=True):
        yield slice(*rows), slice(*keys)


def see_sequence(rows: slice, keys: slice, scalars: Scalars) -> Array:
    """bool [queries, keys] of one sequence."""
    counts = rows.stop - rows.start, keys.stop - keys.start
    return see_keys(*counts, is_causal=bool(scalars["causal"]), window_left=scalars["window_left"])


def attention_prefill(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"out" [TQ, HQ, DV], "lse" [HQ, TQ]}."""
    q, k, v = (widen(arrays[name]) for name in ("q", "k", "v"))
    out, lse = np.zeros((*q.shape[:2], v.shape[2])), np.full((q.shape[1], q.shape[0]), -np.inf)
    group = q.shape[1] // k.shape[1]
    for rows, keys in list_sequences(arrays):
        seen = see_sequence(rows, keys, scalars)
        for head in range(q.shape[1]):
            sink = float(arrays["sinks"][head]) if "sinks" in arrays else None
            pair = k[keys, head // group], v[keys, head // group]
            out[rows, head], lse[head, rows] = attend(q[rows, head], *pair, scalars["scale"], seen, sink)
    return {"out": out, "lse": lse}


REFERENCES = {"attention_prefill": attention_prefill}
