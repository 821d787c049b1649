"""attention_prefill → cases: widths of heads x sequences and masks of every kind."""

from __future__ import annotations

import numpy as np

from cases.attention_backward import make_backward_cases
from cases.attention_batch import Batch, draw_batch, make_scalars
from cases.attention_terms import measure_attention
from harness.case import Array, Case
from rockiln_kernels.references.attention_prefill import list_sequences, see_sequence
from rockiln_kernels.spec import OpSpec

_WIDTHS = ((64, 64), (80, 80), (128, 128), (192, 128))


BATCHES = (
    Batch(name="causal", lengths=((70, 70), (1, 40))),
    Batch(name="unseen", lengths=((33, 16), (0, 9), (3, 0)), heads=(1, 1)),
    Batch(name="window-sinks", lengths=((9, 75),), window_left=5, has_sinks=True, gap=16),
    Batch(name="whole", lengths=((5, 37),), heads=(3, 3), causal=False),
    Batch(name="groups", lengths=((3, 9), (18, 18)), heads=(15, 5)),
    Batch(name="special", lengths=((6, 6),), heads=(1, 1), is_special=True),
)


def make_cases(spec: OpSpec, cell: str) -> list[Case]:
    """Every batch in every width of heads."""
    if spec.name == "attention_prefill_backward":
        return make_backward_cases(cell, BATCHES, _WIDTHS)
    return [_make_case(spec, cell, batch, width) for width in _WIDTHS for batch in BATCHES]


def _make_case(spec: OpSpec, cell: str, batch: Batch, width: tuple[int, int]) -> Case:
    arrays = draw_batch(spec.name, cell, batch, width)
    scalars = make_scalars(batch, width)
    out, lse = measure_batch(arrays, scalars, cell)
    return Case(
        name=f"{batch.name}-d{width[0]}",
        arrays=arrays,
        scalars=scalars,
        terms=width[0],
        magnitudes={"out": out, "lse": lse},
    )


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
