"""attention_prefill → cases: widths of heads x sequences and masks of every kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cases.attention_terms import measure_attention
from harness.case import Array, Case, draw, make_generator, stride_rows
from rockiln_kernels.references.attention_prefill import list_sequences, see_sequence
from rockiln_kernels.spec import OpSpec

_WIDTHS = ((64, 64), (80, 80), (128, 128), (192, 128))


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


BATCHES = (
    Batch(name="causal", lengths=((70, 70), (1, 40))),
    Batch(name="unseen", lengths=((33, 16), (0, 9), (3, 0)), heads=(1, 1)),
    Batch(name="window-sinks", lengths=((9, 75),), window_left=5, has_sinks=True, gap=16),
    Batch(name="whole", lengths=((5, 37),), heads=(3, 3), causal=False),
    Batch(name="special", lengths=((6, 6),), heads=(1, 1), is_special=True),
)


def make_cases(spec: OpSpec, cell: str) -> list[Case]:
    """Every batch in every width of heads."""
    return [_make_case(spec, cell, batch, width) for width in _WIDTHS for batch in BATCHES]


def _make_case(spec: OpSpec, cell: str, batch: Batch, width: tuple[int, int]) -> Case:
    arrays = draw_batch(spec.name, cell, batch, width)
    scalars = {
        "scale": float(np.float32(width[0] ** -0.5)),
        "max_seqlen_q": max(queries for queries, _ in batch.lengths),
        "causal": batch.causal,
        "window_left": batch.window_left,
    }
    out, lse = measure_batch(arrays, scalars, cell)
    return Case(
        name=f"{batch.name}-d{width[0]}",
        arrays=arrays,
        scalars=scalars,
        terms=width[0],
        magnitudes={"out": out, "lse": lse},
    )


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
        arrays = {name: stride_rows(array, batch.gap) for name, array in arrays.items()}
    arrays |= {f"cu_seqlens_{name}": np.ascontiguousarray(starts[:, place]) for place, name in enumerate("qk")}
    if batch.has_sinks:
        arrays["sinks"] = draw(generator, batch.heads[:1], "f32")
    return arrays


def measure_batch(arrays: dict[str, Array], scalars: dict[str, float], cell: str) -> tuple[Array, Array]:
    """Magnitudes of out and lse."""
    q, k, v = (arrays[name].astype(np.float64) for name in ("q", "k", "v"))
    out, lse = np.zeros((*q.shape[:2], v.shape[2])), np.ones((q.shape[1], q.shape[0]))
    for rows, keys in list_sequences(arrays):
        seen = see_sequence(rows, keys, scalars)
        for head in range(q.shape[1]):
            own = head * k.shape[1] // q.shape[1]
            sink = float(arrays["sinks"][head]) if "sinks" in arrays else None
            out[rows, head], lse[head, rows] = measure_attention(
                q[rows, head], k[keys, own], v[keys, own], scalars["scale"], seen, cell, sink
            )
    return out, lse
