"""attention_prefill_backward → cases: out and lse are the float64 reference's, rounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cases.attention_batch import Batch, draw_batch, make_scalars
from harness.case import Array, Case, draw, make_generator
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.references.attention_prefill import attention_prefill, list_sequences, see_sequence


def make_backward_cases(cell: str, batches: Sequence[Batch], widths: Sequence[tuple[int, int]]) -> list[Case]:
    """Every batch in every width of heads; without special values, which reach whole tiles."""
    plain = [batch for batch in batches if not batch.is_special]
    return [_make_case(cell, batch, width) for width in widths for batch in plain]


def _make_case(cell: str, batch: Batch, width: tuple[int, int]) -> Case:
    arrays = draw_batch("attention_prefill_backward", cell, batch, width)
    scalars = make_scalars(batch, width)
    forward = attention_prefill(arrays, scalars)
    arrays.pop("sinks", None)
    arrays["out"] = forward["out"].astype(arrays["v"].dtype)
    arrays["lse"] = forward["lse"].astype(np.float32)
    arrays["dout"] = draw(make_generator("dout", cell, batch.name, str(width)), forward["out"].shape, cell)
    if batch.name == "causal":
        scalars["max_seqlen_k"] = max(keys for _, keys in batch.lengths)
    return Case(
        name=f"{batch.name}-d{width[0]}",
        arrays=arrays,
        scalars=scalars,
        terms=width[0],
        magnitudes=_measure(arrays, scalars, cell),
    )


def _measure(arrays: dict[str, Array], scalars: dict[str, Any], dtype: str) -> dict[str, Array]:
    """Sums of magnitudes; weights and slopes are rounded to T, and errors of scores scale the weights."""
    q, k, v, out, dout = (np.abs(arrays[name].astype(np.float64)) for name in ("q", "k", "v", "out", "dout"))
    sums = {"dq": np.zeros(q.shape), "dk": np.zeros(k.shape), "dv": np.zeros(v.shape)}
    own_step = 2.0**-24 * (16.0 + 4.0 * np.sqrt(q.shape[2]))
    rounded = 2.0 ** -(DTYPES[dtype].mantissa_bits + 1) / own_step
    scale, group = scalars["scale"], q.shape[1] // k.shape[1]
    for rows, keys in list_sequences(arrays):
        seen = see_sequence(rows, keys, scalars)
        for head in range(q.shape[1]):
            own = head // group
            signed = arrays["q"][rows, head].astype(np.float64) @ arrays["k"][keys, own].astype(np.float64).T * scale
            sizes = (q[rows, head] @ k[keys, own].T * scale).max(axis=1, initial=0.0)[:, None]
            lse = arrays["lse"].astype(np.float64)[head, rows][:, None]
            with np.errstate(all="ignore"):
                weights = np.where(seen, np.exp(signed - lse), 0.0) * (rounded + 3.0 + 2.0 * sizes)
            delta = (out[rows, head] * dout[rows, head]).sum(axis=1, keepdims=True)
            slope = weights * (dout[rows, head] @ v[keys, own].T + delta) * scale
            sums["dq"][rows, head] = slope @ k[keys, own]
            sums["dk"][keys, own] += slope.T @ q[rows, head]
            sums["dv"][keys, own] += weights.T @ dout[rows, head]
    return sums
