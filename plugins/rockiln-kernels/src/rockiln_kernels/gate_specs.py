"""A gate's name, formula and scalars → the four specs of its *_and_mul family."""

from __future__ import annotations

from rockiln_kernels.shared_spec import E4M3, FLOATS, MX_SOURCE, OFP8_SOURCE
from rockiln_kernels.spec import ArraySpec, Constraint, Gradient, OpSpec, ScalarSpec

_X = ArraySpec(name="x", dims=("M", "D2"), dtype="T", layout="rows", folds_leading=True)
_Y = ArraySpec(name="y", dims=("M", "D2 // 2"), dtype="T", folds_leading=True)
_DY = ArraySpec(name="dy", dims=("M", "D2 // 2"), dtype="T", layout="rows", folds_leading=True)
_DX = ArraySpec(name="dx", dims=("M", "D2"), dtype="T", folds_leading=True)
_FP8 = (
    ArraySpec(name="q", dims=("M", "D2 // 2"), dtype="Q", folds_leading=True),
    ArraySpec(name="q_scale", dims=("M", "cdiv(D2 // 2, 128)"), dtype="f32", folds_leading=True),
)
_MXFP4 = (
    ArraySpec(name="q", dims=("M", "D2 // 4"), dtype="u8", folds_leading=True),
    ArraySpec(name="q_scale", dims=("M", "D2 // 64"), dtype="u8", folds_leading=True),
)
_EVEN = Constraint(formula="D2 % 2 == 0", reason="the last dim of x is odd, so it does not hold gate and up")
_WHOLE_BLOCKS = Constraint(formula="D2 % 64 == 0", reason="half of x's last dim is no multiple of 32, an MX block")

LIMIT = ScalarSpec(name="limit", kind="f32", default=0.0)
INTERLEAVED = ScalarSpec(name="interleaved", kind="bool", default=False)


_WHERE = "x holds g, then u, along its last dim, or with interleaved g and u in turn; limit > 0 cuts g from above \
and u from both sides"


def make_gate_specs(
    family: str, formula: str, scalars: tuple[ScalarSpec, ...] = (LIMIT, INTERLEAVED), source: str = ""
) -> tuple[OpSpec, ...]:
    """FAMILY, FAMILY_fp8, FAMILY_mxfp4 and FAMILY_backward. `formula` says y, of gate g and up u."""
    gradient = Gradient(op=f"{family}_backward", inputs=(("dy", "grad y"), ("x", "x")), outputs=(("dx", "x"),))
    return (
        OpSpec(
            name=family,
            summary=f"y = {formula}; {_WHERE}.",
            dtype_axes=(FLOATS,),
            inputs=(_X,),
            outputs=(_Y,),
            scalars=scalars,
            constraints=(_EVEN,),
            gradient=gradient,
            source=source,
        ),
        *_make_quantised(family, formula, scalars),
        OpSpec(
            name=f"{family}_backward",
            summary=f"The gradient of y = {formula}: dx, 0 where limit cuts.",
            dtype_axes=(FLOATS,),
            inputs=(_DY, _X),
            outputs=(_DX,),
            scalars=scalars,
            constraints=(_EVEN,),
        ),
    )


def _make_quantised(family: str, formula: str, scalars: tuple[ScalarSpec, ...]) -> tuple[OpSpec, ...]:
    return (
        OpSpec(
            name=f"{family}_fp8",
            summary=f"q = {formula} in fp8, with q_scale = max|.| / largest fp8 of 128 values; {_WHERE}.",
            dtype_axes=(FLOATS, E4M3),
            inputs=(_X,),
            outputs=_FP8,
            scalars=scalars,
            constraints=(_EVEN,),
            source=OFP8_SOURCE,
        ),
        OpSpec(
            name=f"{family}_mxfp4",
            summary=f"q = {formula} in MXFP4 (see quant_mxfp4); {_WHERE}.",
            dtype_axes=(FLOATS,),
            inputs=(_X,),
            outputs=_MXFP4,
            scalars=scalars,
            constraints=(_WHOLE_BLOCKS,),
            source=MX_SOURCE,
        ),
    )
