"""The MX families → cases; bytes must be equal, and every code of a format is decoded."""

from __future__ import annotations

import numpy as np

from cases.row_cases import draw_rows, list_row_cases
from cases.ties import draw_ties
from harness.case import Case, make_generator, numpy_dtype
from rockiln_kernels.spec import OpSpec

_BYTES = {"mxfp4": 16, "mxfp6": 24, "mxfp8": 32}
NARROW_SHAPES = (("aligned", 3, 16), ("tiny", 1, 1), ("long", 2, 35))
"""name, rows and blocks of what is widened."""


def make_mx_cases(spec: OpSpec, cell: str) -> list[Case]:
    """Rows of every kind, in lengths of whole blocks."""
    if spec.name.startswith("dequant_"):
        return [_make_dequant_case(spec, cell, *shape) for shape in NARROW_SHAPES]
    dtype = spec.cell_dtypes(cell)["T"]
    cases = []
    for rows in list_row_cases(step=32, long=(1248,)):
        x = draw_rows(rows, "x", dtype, spec.name)
        if rows.name.startswith("long"):
            spread = make_generator("spread", cell).uniform(-14.0, 0.0, x.shape)
            x = (x.astype(np.float64) * 2.0**spread).astype(x.dtype)
        cases.append(Case(name=rows.name, arrays={"x": x}, match="bytes", is_misaligned=rows.is_misaligned))
    return [*cases, Case(name="ties", arrays={"x": draw_ties(spec, cell, 32)}, match="bytes")]


def _make_dequant_case(spec: OpSpec, cell: str, name: str, rows: int, blocks: int) -> Case:
    generator = make_generator(spec.name, name)
    width = blocks * _BYTES[spec.name.removeprefix("dequant_")]
    q = generator.permuted(np.resize(np.arange(256, dtype=np.uint8), (rows, width)), axis=1)
    scale = generator.integers(110, 140, (rows, blocks)).astype(np.uint8)
    scale[0, :1] = 255 if name == "aligned" else 127
    scale[-1, -1:] = 0
    own = spec.cell_dtypes(cell).get("E", "u8")
    dtype = numpy_dtype(own if spec.inputs[0].dtype == "E" else "u8")
    return Case(name=name, arrays={"q": q.view(dtype), "q_scale": scale}, is_misaligned=name.startswith("tiny"))
