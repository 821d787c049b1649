"""Sequences and masks → the arrays and scalars of a call of attention_prefill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.case import Array, draw, make_generator, stride_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Sequences as (queries, keys), and the mask."""

    name: str
    lengths: tuple[tuple[int, int], ...]
    heads: tuple[int, int] = (2, 1)
    causal: bool = True
    window_left: int = -1
    has_sinks: bool = False
    gap: int = 0
    is_special: bool = False


def draw_batch(op: str, cell: str, batch: Batch, width: tuple[int, int]) -> dict[str, Array]:
    """q, k, v, the sequences' starts, and sinks."""
    generator = make_generator(op, cell, batch.name, str(width))
    starts = np.cumsum([(0, 0), *batch.lengths], axis=0).astype(np.int32)
    sizes = {"q": (starts[-1, 0], batch.heads[0], width[0]), "k": (starts[-1, 1], batch.heads[1], width[0])}
    sizes["v"] = (*sizes["k"][:2], width[1])
    arrays = {name: draw(generator, size, cell) for name, size in sizes.items()}
    if batch.is_special:
        arrays["q"][1, 0, 3], arrays["k"][4, 0, 0], arrays["v"][2, 0, 1] = np.nan, np.inf, np.inf
    if batch.gap:
        gaps = {"q": batch.gap, "k": 2 * batch.gap, "v": 3 * batch.gap}
        arrays = {name: stride_rows(array, gaps[name]) for name, array in arrays.items()}
    arrays |= {f"cu_seqlens_{name}": np.ascontiguousarray(starts[:, place]) for place, name in enumerate("qk")}
    if batch.has_sinks:
        arrays["sinks"] = draw(generator, batch.heads[:1], "f32")
    return arrays


def make_scalars(batch: Batch, width: tuple[int, int]) -> dict[str, Any]:
    """Scale, longest queries and mask."""
    return {
        "scale": float(np.float32(width[0] ** -0.5)),
        "max_seqlen_q": max(queries for queries, _ in batch.lengths),
        "causal": batch.causal,
        "window_left": batch.window_left,
    }
