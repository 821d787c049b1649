"""fused_moe → SPECS: a token's experts, each two products with a gated activation between, weighed and added up."""

from __future__ import annotations

from rockiln_kernels.shared_spec import HALVES
from rockiln_kernels.spec import ArraySpec, Constraint, OpSpec, ScalarSpec

X = ArraySpec(name="x", dims=("M", "K"), dtype="T", layout="rows", folds_leading=True)
_MATRICES = (
    ArraySpec(name="gate_up", dims=("E", "N2", "K"), dtype="T"),
    ArraySpec(name="down", dims=("E", "K", "N2 // 2"), dtype="T"),
)
ROUTES = (
    ArraySpec(name="weights", dims=("M", "top"), dtype="f32", folds_leading=True),
    ArraySpec(name="ids", dims=("M", "top"), dtype="i32", folds_leading=True),
)
BIASES = (
    ArraySpec(name="gate_up_bias", dims=("E", "N2"), dtype="T", optional=True),
    ArraySpec(name="down_bias", dims=("E", "K"), dtype="T", optional=True),
)
OUT = ArraySpec(name="out", dims=("M", "K"), dtype="T", folds_leading=True)
SCALARS = (
    ScalarSpec(name="interleaved", kind="bool", default=False),
    ScalarSpec(name="alpha", kind="f32", default=1.0),
    ScalarSpec(name="limit", kind="f32", default=0.0),
    ScalarSpec(name="up_offset", kind="f32", default=0.0),
)
RULES = (
    Constraint(formula="N2 % 2 == 0 and N2 >= 2", reason="gate_up has an odd number of rows, or none"),
    Constraint(formula="E >= 1 and E <= 1024", reason="the number of experts is not within 1 and 1024"),
    Constraint(formula="M * top < 2147483648", reason="there are more than 2^31 slots"),
)
FORMULA = (
    "out = sum over a token's choices of weight * (h down^T + down_bias), with h = g * sigmoid(alpha g) * (u + "
    "up_offset) of x gate_up^T + gate_up_bias, whose last dim holds g, then u, or with interleaved g and u in "
    "turn; limit > 0 cuts g from above and u from both sides (gpt-oss: interleaved, alpha 1.702, limit 7, "
    "up_offset 1). An id that is no expert's adds nothing. h is rounded to x's type, the sum is of f32 in the "
    "order of the choices: deterministic."
)

SPECS = (
    OpSpec(
        name="fused_moe",
        summary=FORMULA,
        dtype_axes=(HALVES,),
        inputs=(X, *_MATRICES, *ROUTES, *BIASES),
        outputs=(OUT,),
        scalars=SCALARS,
        constraints=RULES,
        source="Shazeer et al., https://arxiv.org/abs/1701.06538; gpt-oss: https://arxiv.org/abs/2508.10925",
    ),
)
