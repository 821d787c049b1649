"""rope's family → cases."""

from __future__ import annotations

import numpy as np

from cases.row_cases import each_order
from harness.case import Array, Case, draw, fill_special_rows, make_generator, stride_rows
from rockiln_kernels.spec import OpSpec

_SHAPES = (
    ("aligned", 3, 5, 128, 64),
    ("partial", 2, 3, 96, 16),
    ("ragged", 3, 3, 37, 7),
    ("tiny", 1, 1, 2, 1),
    ("strided", 2, 2, 64, 32),
    ("special", 6, 2, 64, 32),
    ("wide", 2, 1, 256, 128),
)
"""name, tokens, heads, head dim, pairs."""


def make_cases(spec: OpSpec, cell: str) -> list[Case]:
    """Whole and partial rotation, both orders of pairs."""
    return [_make_case(spec, cell, *shape, interleaved=order) for shape in _SHAPES for order in each_order()]


def _make_case(
    spec: OpSpec, cell: str, name: str, tokens: int, heads: int, size: int, pairs: int, *, interleaved: bool
) -> Case:
    dtype = spec.cell_dtypes(cell)["T"]
    generator = make_generator(spec.name, name)
    x = draw(generator, (tokens, heads, size), dtype)
    x = fill_special_rows(x) if name == "special" else x
    x = stride_rows(x, 16) if name == "strided" else x
    angles = generator.uniform(0.0, 6.3, (11, pairs))
    arrays: dict[str, Array] = {
        spec.inputs[0].name: x,
        "cos": np.cos(angles).astype(np.float32),
        "sin": np.sin(angles).astype(np.float32),
        "positions": generator.integers(0, 11, tokens).astype(np.int32),
    }
    sizes = np.nan_to_num(np.abs(x.astype(np.float64)), nan=0.0, posinf=0.0).max(axis=-1, keepdims=True)
    return Case(
        name=f"{name}-{'interleaved' if interleaved else 'halves'}",
        arrays=arrays,
        scalars={"interleaved": interleaved},
        terms=2,
        magnitudes={spec.outputs[0].name: np.broadcast_to(sizes, x.shape)},
        is_misaligned=name == "ragged",
    )
