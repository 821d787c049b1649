"""gemm and its epilogues → SPECS: out = epilogue(a · bᵀ + bias)."""

from __future__ import annotations

from rockiln_kernels.shared_spec import FLOATS
from rockiln_kernels.spec import ArraySpec, Constraint, OpSpec, ScalarSpec

_A = ArraySpec(name="a", dims=("M", "K"), dtype="T", layout="rows", folds_leading=True)
_B = ArraySpec(name="b", dims=("N", "K"), dtype="T", layout="rows")
_BIAS = ArraySpec(name="bias", dims=("N",), dtype="T", optional=True)
_OUT = ArraySpec(name="out", dims=("M", "N"), dtype="T", folds_leading=True)
_HALF = ArraySpec(name="out", dims=("M", "N // 2"), dtype="T", folds_leading=True)
_NOT_EMPTY = Constraint(formula="K >= 1", reason="K is 0: there is nothing to multiply")
_PAIRS = Constraint(formula="N % 2 == 0", reason="N is odd, so b does not hold gate and up")
_SUMS = "sums in f32, each output in one fixed order; gfx90a takes f16 subnormals as 0"

ACTIVATIONS = {
    "": "x",
    "_silu": "x * sigmoid(x)",
    "_gelu": "x / 2 * (1 + erf(x / sqrt 2))",
    "_gelu_tanh": "x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))",
}
"""What follows "gemm" in an op's name → its formula of x = a · bᵀ + bias."""


def _make_spec(suffix: str, formula: str) -> OpSpec:
    return OpSpec(
        name=f"gemm{suffix}",
        summary=f"out = {formula} of x = a b^T + bias; {_SUMS}.",
        dtype_axes=(FLOATS,),
        inputs=(_A, _B, _BIAS),
        outputs=(_OUT,),
        constraints=(_NOT_EMPTY,),
    )


SPECS = (
    *(_make_spec(suffix, formula) for suffix, formula in ACTIVATIONS.items()),
    OpSpec(
        name="gemm_swiglu",
        summary="out = g * sigmoid(g) * u of x = a b^T + bias, where x holds g, then u, along its last dim, or with "
        f"interleaved g and u in turn; {_SUMS}.",
        dtype_axes=(FLOATS,),
        inputs=(_A, _B, _BIAS),
        outputs=(_HALF,),
        scalars=(ScalarSpec(name="interleaved", kind="bool", default=False),),
        constraints=(_NOT_EMPTY, _PAIRS),
        source="Shazeer, https://arxiv.org/abs/2002.05202",
    ),
)
