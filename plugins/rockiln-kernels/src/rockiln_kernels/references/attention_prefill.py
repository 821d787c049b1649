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


def attention_prefill_backward(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"dq", "dk", "dv"}, in the shapes of q, k and v; the weights follow from lse."""
    q, k, v, out, dout = (widen(arrays[name]) for name in ("q", "k", "v", "out", "dout"))
    dq, dk, dv = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
    group, scale = q.shape[1] // k.shape[1], scalars["scale"]
    for rows, keys in list_sequences(arrays):
        seen = see_sequence(rows, keys, scalars)
        for head in range(q.shape[1]):
            own = head // group
            lse = widen(arrays["lse"])[head, rows][:, None]
            with np.errstate(all="ignore"):
                weights = np.where(seen, np.exp(q[rows, head] @ k[keys, own].T * scale - lse), 0.0)
                delta = (out[rows, head] * dout[rows, head]).sum(axis=1, keepdims=True)
                slope = weights * (dout[rows, head] @ v[keys, own].T - delta) * scale
                dq[rows, head] = slope @ k[keys, own]
                dk[keys, own] += slope.T @ q[rows, head]
                dv[keys, own] += weights.T @ dout[rows, head]
    return {"dq": dq, "dk": dk, "dv": dv}


REFERENCES = {"attention_prefill": attention_prefill, "attention_prefill_backward": attention_prefill_backward}
