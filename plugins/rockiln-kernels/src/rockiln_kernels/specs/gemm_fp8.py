"""gemm_fp8 and gemm_fp8_block with their epilogues → SPECS: products of fp8 matrices with scales."""

from __future__ import annotations

from rockiln_kernels.shared_spec import FP8, OFP8_SOURCE
from rockiln_kernels.spec import ArraySpec, Constraint, OpSpec, ScalarSpec
from rockiln_kernels.specs.gemm import ACTIVATIONS

_MATRICES = (
    ArraySpec(name="a", dims=("M", "K"), dtype="Q", layout="rows", folds_leading=True),
    ArraySpec(name="b", dims=("N", "K"), dtype="Q", layout="rows"),
)
_SCALES = (
    ArraySpec(name="a_scale", dims=("SA",), dtype="f32"),
    ArraySpec(name="b_scale", dims=("SB",), dtype="f32"),
)
_BLOCK_SCALES = (
    ArraySpec(name="a_scale", dims=("M", "cdiv(K, 128)"), dtype="f32"),
    ArraySpec(name="b_scale", dims=("cdiv(N, 128)", "cdiv(K, 128)"), dtype="f32"),
)
_BIAS = ArraySpec(name="bias", dims=("N",), dtype="f32", optional=True)
_OUT = ArraySpec(name="out", dims=("M", "N"), dtype="bf16", folds_leading=True)
_HALF = ArraySpec(name="out", dims=("M", "N // 2"), dtype="bf16", folds_leading=True)
_NOT_EMPTY = Constraint(formula="K >= 1", reason="K is 0: there is nothing to multiply")
_PAIRS = Constraint(formula="N % 2 == 0", reason="N is odd, so b does not hold gate and up")
_COUNTS = (
    Constraint(formula="SA == 1 or SA == M", reason="a_scale has neither one scale nor one a row of a"),
    Constraint(formula="SB == 1 or SB == N", reason="b_scale has neither one scale nor one a row of b"),
)
_INTERLEAVED = ScalarSpec(name="interleaved", kind="bool", default=False)
PAIR_FORMULA = "g * sigmoid(g) * u of its g, then u, along the last dim, or interleaved in turn"


def _make_spec(suffix: str, formula: str, *, is_block: bool) -> OpSpec:
    is_pair = suffix == "_swiglu"
    how = "one a row of a and 128 columns, and one a block of 128 x 128 of b" if is_block else "one each, or one a row"
    return OpSpec(
        name=f"gemm_fp8{'_block' if is_block else ''}{suffix}",
        summary=f"out = {formula} of x = (a a_scale) (b b_scale)^T + bias; scales are {how}. Sums in f32, in order.",
        dtype_axes=(FP8,),
        inputs=(*_MATRICES, *(_BLOCK_SCALES if is_block else _SCALES), _BIAS),
        outputs=(_HALF if is_pair else _OUT,),
        scalars=(_INTERLEAVED,) if is_pair else (),
        constraints=(_NOT_EMPTY, *(() if is_block else _COUNTS), *((_PAIRS,) if is_pair else ())),
        source=OFP8_SOURCE,
    )


SPECS = tuple(
    _make_spec(suffix, formula, is_block=is_block)
    for is_block in (False, True)
    for suffix, formula in {**ACTIVATIONS, "_swiglu": PAIR_FORMULA}.items()
)
