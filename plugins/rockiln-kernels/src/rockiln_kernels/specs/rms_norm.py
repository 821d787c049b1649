"""rms_norm and what is derived from it → SPECS."""

from __future__ import annotations

from rockiln_kernels.spec import ArraySpec, Constraint, OpSpec, ScalarSpec

_X = ArraySpec(name="x", dims=("M", "N"), dtype="T", layout="rows", folds_leading=True)
_WEIGHT = ArraySpec(name="weight", dims=("N",), dtype="T")
_Y = ArraySpec(name="y", dims=("M", "N"), dtype="T", folds_leading=True)
_SCALARS = (
    ScalarSpec(name="eps", kind="f32", default=1e-6),
    ScalarSpec(name="weight_offset", kind="f32", default=0.0),
)
_FLOATS = ("T", ("f32", "f16", "bf16"))
_ROWS_HAVE_VALUES = Constraint(formula="N >= 1", reason="a row has no values")

SPECS = (
    OpSpec(
        name="rms_norm",
        summary="y = x / sqrt(mean(x^2) + eps) * (weight + weight_offset) over the last dim; sums in f32.",
        dtype_axes=(_FLOATS,),
        inputs=(_X, _WEIGHT),
        outputs=(_Y,),
        scalars=_SCALARS,
        constraints=(_ROWS_HAVE_VALUES,),
        source="Zhang and Sennrich, Root Mean Square Layer Normalization, https://arxiv.org/abs/1910.07467",
    ),
)
