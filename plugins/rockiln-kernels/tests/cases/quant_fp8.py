"""quant_fp8's family → cases; bytes must be equal."""

from __future__ import annotations

import numpy as np

from cases.row_cases import RowCase, draw_rows, list_row_cases
from cases.ties import draw_ties
from harness.case import Array, Case, make_generator
from rockiln_kernels.spec import OpSpec


def make_cases(spec: OpSpec, cell: str) -> list[Case]:
    """Rows of every kind, magnitudes over the whole range of the format, and its numbers and the middles of them."""
    dtype = spec.cell_dtypes(cell)["T"]
    cases = []
    square = (RowCase(name="blocks", rows=256, columns=528),) if spec.name == "quant_fp8_block" else ()
    for rows in (*list_row_cases(long=(1008, 8176)), *square):
        arrays: dict[str, Array] = {"x": draw_rows(rows, "x", dtype, spec.name)}
        if rows.name.startswith("long"):  # subnormals of the format, and ties, are among them
            spread = make_generator("spread", cell).uniform(-14.0, 0.0, arrays["x"].shape)
            arrays["x"] = (arrays["x"].astype(np.float64) * 2.0**spread).astype(arrays["x"].dtype)
        if spec.name == "quant_fp8_static":
            arrays["scale"] = np.array([0.0117], np.float32)
        cases.append(Case(name=rows.name, arrays=arrays, match="bytes", is_misaligned=rows.is_misaligned))
    zeros = {"x": np.zeros((2, 64), cases[0].arrays["x"].dtype)}
    zeros |= {name: array for name, array in cases[0].arrays.items() if name != "x"}
    ties = {"x": draw_ties(spec, cell, 128)}
    if spec.name == "quant_fp8_static":
        ties["scale"] = np.ones(1, np.float32)
    return [*cases, Case(name="zeros", arrays=zeros, match="bytes"), Case(name="ties", arrays=ties, match="bytes")]
