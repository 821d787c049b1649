"""rope and its gradient → SPECS."""

from __future__ import annotations

from rockiln_kernels.shared_spec import FLOATS
from rockiln_kernels.spec import ArraySpec, Constraint, Gradient, OpSpec, ScalarSpec

_X = ArraySpec(name="x", dims=("L", "H", "D"), dtype="T", layout="rows", folds_leading=True)
_DY = ArraySpec(name="dy", dims=("L", "H", "D"), dtype="T", layout="rows", folds_leading=True)
_TABLES = (
    ArraySpec(name="cos", dims=("P", "R"), dtype="f32"),
    ArraySpec(name="sin", dims=("P", "R"), dtype="f32"),
    ArraySpec(name="positions", dims=("L",), dtype="i32"),
)
_FITS = Constraint(formula="2 * R <= D", reason="cos and sin have more columns than half of x's last dim")
_INTERLEAVED = ScalarSpec(name="interleaved", kind="bool", default=False)
_HOW = "pairs are x[i], x[i + R] (NeoX), or with interleaved x[2i], x[2i + 1] (GPT-J); dims from 2R on are copied"

SPECS = (
    OpSpec(
        name="rope",
        summary=f"Pairs (a, b) of each head become (a cos - b sin, b cos + a sin) by row positions[l] of cos and sin \
[P, R]; {_HOW}. A position outside 0 to P - 1 is undefined.",
        dtype_axes=(FLOATS,),
        inputs=(_X, *_TABLES),
        outputs=(ArraySpec(name="y", dims=("L", "H", "D"), dtype="T", folds_leading=True),),
        scalars=(_INTERLEAVED,),
        constraints=(_FITS,),
        gradient=Gradient(
            op="rope_backward",
            inputs=(("dy", "grad y"), ("cos", "cos"), ("sin", "sin"), ("positions", "positions")),
            outputs=(("dx", "x"),),
        ),
        source="Su et al., RoFormer, https://arxiv.org/abs/2104.09864",
    ),
    OpSpec(
        name="rope_backward",
        summary="The gradient of rope with respect to x: the rotation back.",
        dtype_axes=(FLOATS,),
        inputs=(_DY, *_TABLES),
        outputs=(ArraySpec(name="dx", dims=("L", "H", "D"), dtype="T", folds_leading=True),),
        scalars=(_INTERLEAVED,),
        constraints=(_FITS,),
    ),
)
