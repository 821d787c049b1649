"""fused_moe_mxfp4 and fused_moe_fp8 → SPECS: fused_moe with narrow weights, which are widened in registers."""

from __future__ import annotations

from rockiln_kernels.shared_spec import E4M3, MX_SOURCE, OFP8_SOURCE
from rockiln_kernels.spec import ArraySpec, Constraint, OpSpec
from rockiln_kernels.specs.fused_moe import BIASES, FORMULA, OUT, ROUTES, RULES, SCALARS, X

_MXFP4 = (
    ArraySpec(name="gate_up", dims=("E", "N2", "K // 2"), dtype="u8"),
    ArraySpec(name="gate_up_scale", dims=("E", "N2", "K // 32"), dtype="u8"),
    ArraySpec(name="down", dims=("E", "K", "N2 // 4"), dtype="u8"),
    ArraySpec(name="down_scale", dims=("E", "K", "N2 // 64"), dtype="u8"),
)
_FP8 = (
    ArraySpec(name="gate_up", dims=("E", "N2", "K"), dtype="Q"),
    ArraySpec(name="gate_up_scale", dims=("E", "cdiv(N2, 128)", "cdiv(K, 128)"), dtype="f32"),
    ArraySpec(name="down", dims=("E", "K", "N2 // 2"), dtype="Q"),
    ArraySpec(name="down_scale", dims=("E", "cdiv(K, 128)", "cdiv(N2 // 2, 128)"), dtype="f32"),
)
_BLOCKS = Constraint(
    formula="K % 32 == 0 and N2 % 64 == 0", reason="the width of x or of h is no multiple of 32, an MX block"
)
_WIDE = ("T", ("bf16",))

SPECS = (
    OpSpec(
        name="fused_moe_mxfp4",
        summary=f"fused_moe with MXFP4 weights (see quant_mxfp4). {FORMULA}",
        dtype_axes=(_WIDE,),
        inputs=(X, *_MXFP4, *ROUTES, *BIASES),
        outputs=(OUT,),
        scalars=SCALARS,
        constraints=(*RULES, _BLOCKS),
        source=MX_SOURCE,
    ),
    OpSpec(
        name="fused_moe_fp8",
        summary=f"fused_moe with fp8 weights, one scale for a block of 128 x 128. {FORMULA}",
        dtype_axes=(_WIDE, E4M3),
        inputs=(X, *_FP8, *ROUTES, *BIASES),
        outputs=(OUT,),
        scalars=SCALARS,
        constraints=RULES,
        source=OFP8_SOURCE,
    ),
)
