"""rms_norm's family → cases."""

from __future__ import annotations

import numpy as np

from cases.row_cases import RowCase, draw_rows, list_row_cases
from harness.case import Array, Case, draw, make_generator
from rockiln_kernels.spec import OpSpec


def make_cases(spec: OpSpec, cell: str) -> list[Case]:
    """Rows of every kind; the fused quantised ops are compared by codes."""
    step = 32 if "mxfp4" in spec.name else 1
    return [_make_case(spec, cell, rows) for rows in list_row_cases(step=step, long=(1008, 4080, 8176))]


def _make_case(spec: OpSpec, cell: str, rows: RowCase) -> Case:
    dtype = spec.cell_dtypes(cell)["T"]
    weight = draw(make_generator("weight", rows.name, dtype), (rows.columns,), dtype)
    names = [array.name for array in spec.inputs if array.name != "weight"]
    arrays: dict[str, Array] = {name: draw_rows(rows, name, dtype, spec.name) for name in names}
    scalars = {"weight_offset": 1.0, "eps": 1e-5} if rows.name == "strided" else {}
    return Case(
        name=rows.name,
        arrays=arrays | {"weight": weight},
        scalars=scalars,
        match="codes" if spec.name.endswith(("fp8", "mxfp4")) else "tolerance",
        terms=rows.columns,
        magnitudes=_measure_gradient(arrays, weight, scalars) if spec.name == "rms_norm_backward" else {},
        is_misaligned=rows.is_misaligned,
    )


def _measure_gradient(arrays: dict[str, Array], weight: Array, scalars: dict[str, float]) -> dict[str, Array]:
    """dx and dweight are differences and sums: the magnitudes of their terms."""
    with np.errstate(all="ignore"):
        x, dy = (arrays[name].astype(np.float64) for name in ("x", "dy"))
        inverse = 1.0 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + scalars.get("eps", 1e-6))
        weighted = np.abs(dy * (weight.astype(np.float64) + scalars.get("weight_offset", 0.0)))
        mean = np.mean(weighted * np.abs(x), axis=-1, keepdims=True)
        dx = inverse * (weighted + np.abs(x) * inverse**2 * mean)
        return {"dx": dx, "dweight": np.sum(np.abs(dy * x * inverse), axis=0)}
