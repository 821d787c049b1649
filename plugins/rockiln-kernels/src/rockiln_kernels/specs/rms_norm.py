"""rms_norm and what is derived from it → SPECS."""

from __future__ import annotations

from rockiln_kernels.shared_spec import BLOCKS_OF_32, E4M3, FLOATS, MX_SOURCE, OFP8_SOURCE
from rockiln_kernels.spec import ArraySpec, Constraint, Gradient, OpSpec, ScalarSpec

_X = ArraySpec(name="x", dims=("M", "N"), dtype="T", layout="rows", folds_leading=True)
_RESIDUAL = ArraySpec(name="residual", dims=("M", "N"), dtype="T", layout="rows", folds_leading=True)
_WEIGHT = ArraySpec(name="weight", dims=("N",), dtype="T")
_Y = ArraySpec(name="y", dims=("M", "N"), dtype="T", folds_leading=True)
_RESIDUAL_OUT = ArraySpec(name="residual_out", dims=("M", "N"), dtype="T", folds_leading=True)
_FP8 = (
    ArraySpec(name="q", dims=("M", "N"), dtype="Q", folds_leading=True),
    ArraySpec(name="q_scale", dims=("M",), dtype="f32"),
)
_MXFP4 = (
    ArraySpec(name="q", dims=("M", "N // 2"), dtype="u8", folds_leading=True),
    ArraySpec(name="q_scale", dims=("M", "N // 32"), dtype="u8", folds_leading=True),
)
_SCALARS = (
    ScalarSpec(name="eps", kind="f32", default=1e-6),
    ScalarSpec(name="weight_offset", kind="f32", default=0.0),
)
_NOT_EMPTY = Constraint(formula="N >= 1", reason="a row has no values")
_PAPER = "Zhang and Sennrich, Root Mean Square Layer Normalization, https://arxiv.org/abs/1910.07467"
_NORM = "x / sqrt(mean(x^2) + eps) * (weight + weight_offset)"
_ADDED = "residual_out = x + residual; of that sum, rounded to its type, "


def _make_quantised(name: str, *, has_residual: bool, is_fp8: bool) -> OpSpec:
    how = "in fp8, q_scale = max|.| / largest fp8 of each row" if is_fp8 else "in MXFP4 (see quant_mxfp4)"
    extra = (_RESIDUAL_OUT,) if has_residual else ()
    return OpSpec(
        name=name,
        summary=f"{_ADDED if has_residual else ''}q = {_NORM}, {how}.",
        dtype_axes=(FLOATS, E4M3) if is_fp8 else (FLOATS,),
        inputs=(_X, _RESIDUAL, _WEIGHT) if has_residual else (_X, _WEIGHT),
        outputs=(*(_FP8 if is_fp8 else _MXFP4), *extra),
        scalars=_SCALARS,
        constraints=(_NOT_EMPTY,) if is_fp8 else (_NOT_EMPTY, BLOCKS_OF_32),
        source=OFP8_SOURCE if is_fp8 else MX_SOURCE,
    )


SPECS = (
    OpSpec(
        name="rms_norm",
        summary=f"y = {_NORM} over the last dim; sums in f32.",
        dtype_axes=(FLOATS,),
        inputs=(_X, _WEIGHT),
        outputs=(_Y,),
        scalars=_SCALARS,
        constraints=(_NOT_EMPTY,),
        gradient=Gradient(
            op="rms_norm_backward",
            inputs=(("dy", "grad y"), ("x", "x"), ("weight", "weight")),
            outputs=(("dx", "x"), ("dweight", "weight")),
        ),
        source=_PAPER,
    ),
    OpSpec(
        name="add_rms_norm",
        summary=f"{_ADDED}y = {_NORM}.",
        dtype_axes=(FLOATS,),
        inputs=(_X, _RESIDUAL, _WEIGHT),
        outputs=(_Y, _RESIDUAL_OUT),
        scalars=_SCALARS,
        constraints=(_NOT_EMPTY,),
        source=_PAPER,
    ),
    _make_quantised("rms_norm_fp8", has_residual=False, is_fp8=True),
    _make_quantised("add_rms_norm_fp8", has_residual=True, is_fp8=True),
    _make_quantised("rms_norm_mxfp4", has_residual=False, is_fp8=False),
    _make_quantised("add_rms_norm_mxfp4", has_residual=True, is_fp8=False),
    OpSpec(
        name="rms_norm_backward",
        summary="The gradient of rms_norm: dx of each row, and dweight summed over rows in a fixed order.",
        dtype_axes=(FLOATS,),
        inputs=(ArraySpec(name="dy", dims=("M", "N"), dtype="T", layout="rows", folds_leading=True), _X, _WEIGHT),
        outputs=(
            ArraySpec(name="dx", dims=("M", "N"), dtype="T", folds_leading=True),
            ArraySpec(name="dweight", dims=("N",), dtype="T"),
        ),
        scalars=_SCALARS,
        constraints=(_NOT_EMPTY,),
    ),
)
