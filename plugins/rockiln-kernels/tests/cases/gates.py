"""The *_and_mul families → cases."""

from __future__ import annotations

import numpy as np

from cases.row_cases import RowCase, draw_rows, each_order, list_row_cases
from harness.case import Array, Case, make_nan
from rockiln_kernels.spec import OpSpec


def make_gate_cases(spec: OpSpec, cell: str) -> list[Case]:
    """Rows of every kind, with gate and up in halves and interleaved, with and without a limit."""
    step = 32 if "mxfp4" in spec.name else 1
    rows = (*list_row_cases(step=step, long=(1120,)), RowCase(name="loud", rows=1, columns=1120))
    return [_make_case(spec, cell, item, interleaved=order) for item in rows for order in each_order()]


def _make_case(spec: OpSpec, cell: str, rows: RowCase, *, interleaved: bool) -> Case:
    dtype = spec.cell_dtypes(cell)["T"]
    wide = RowCase(
        name=rows.name, rows=rows.rows, columns=2 * rows.columns, gap=rows.gap, is_special=rows.is_special
    )
    arrays: dict[str, Array] = {"x": draw_rows(wide, "x", dtype, spec.name)}
    if rows.name in {"aligned", "loud"}:  # up to where exp under- and overflows
        arrays["x"] = (arrays["x"].astype(np.float64) * 60.0).astype(arrays["x"].dtype)
    if rows.name == "loud" and not spec.name.endswith("fp8"):  # in every register of long rows
        arrays["x"][0, 3::71] = make_nan(arrays["x"].dtype)
    if spec.name.endswith("_backward"):
        arrays = {"dy": draw_rows(rows, "dy", dtype, spec.name), **arrays}
    has_limit = rows.name in {"strided", "ragged", "special"} or rows.name.startswith("long")
    scalars = {"interleaved": interleaved, "limit": 0.75 if has_limit else 0.0}
    return Case(
        name=f"{rows.name}-{'interleaved' if interleaved else 'halves'}",
        arrays=arrays,
        scalars=scalars,
        match="codes" if spec.name.endswith(("fp8", "mxfp4")) else "tolerance",
        magnitudes=_measure(spec, arrays, scalars),
        is_misaligned=rows.is_misaligned,
    )


def _measure(spec: OpSpec, arrays: dict[str, Array], scalars: dict[str, float]) -> dict[str, Array]:
    """A gate is |g| times something at most 1, its slope a sum of terms of about 1 + |g|; a product scales both."""
    x = np.abs(arrays["x"].astype(np.float64))
    half = x.shape[-1] // 2
    gate, up = (x[..., 0::2], x[..., 1::2]) if scalars["interleaved"] else (x[..., :half], x[..., half:])
    with np.errstate(all="ignore"):
        if not spec.name.endswith("_backward"):
            return {"y": gate * (up + 1.0)}
        dy = np.abs(arrays["dy"].astype(np.float64))
        parts = (dy * (up + 1.0) * (2.0 + 2.0 * gate), dy * gate)
    if scalars["interleaved"]:
        return {"dx": np.stack(parts, axis=-1).reshape(x.shape)}
    return {"dx": np.concatenate(parts, axis=-1)}
