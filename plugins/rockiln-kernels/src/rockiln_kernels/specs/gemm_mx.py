"""gemm_mxfp4, gemm_mxfp8, and both with bf16 activations, with their epilogues → SPECS."""

from __future__ import annotations

from rockiln_kernels.shared_spec import MX_SOURCE
from rockiln_kernels.spec import ArraySpec, Constraint, OpSpec, ScalarSpec
from rockiln_kernels.specs.gemm import ACTIVATIONS
from rockiln_kernels.specs.gemm_fp8 import PAIR_FORMULA

_BIAS = ArraySpec(name="bias", dims=("N",), dtype="f32", optional=True)
_OUT = ArraySpec(name="out", dims=("M", "N"), dtype="T", folds_leading=True)
_HALF = ArraySpec(name="out", dims=("M", "N // 2"), dtype="T", folds_leading=True)
_PAIRS = Constraint(formula="N % 2 == 0", reason="N is odd, so b does not hold gate and up")
_INTERLEAVED = ScalarSpec(name="interleaved", kind="bool", default=False)
FORMATS = {
    "gemm_mxfp4": ("e2m1", "e2m1"),
    "gemm_mxfp8": ("e4m3", "e4m3"),
    "gemm_mxfp4_weights": ("bf16", "e2m1"),
    "gemm_mxfp8_weights": ("bf16", "e4m3"),
}
"""Op, its epilogue left out → formats of a and b."""
COLUMNS = {"e2m1": "KH * 2", "e4m3": "K", "bf16": "K"}
"""Format of a → formula of the columns that are multiplied; KH is the bytes of a row of e2m1 pairs."""


def _list_inputs(a_format: str, b_format: str) -> tuple[ArraySpec, ...]:
    is_halved = a_format == "e2m1"
    bytes_of_a, bytes_of_b = ("KH", "KH") if is_halved else ("K", "K // 2" if b_format == "e2m1" else "K")
    scales = "KH // 16" if is_halved else "K // 32"
    a = ArraySpec(
        name="a",
        dims=("M", bytes_of_a),
        dtype="T" if a_format == "bf16" else "u8",
        layout="rows",
        folds_leading=True,
    )
    a_scale = ArraySpec(name="a_scale", dims=("M", scales), dtype="u8", folds_leading=True)
    return (
        a,
        *(() if a_format == "bf16" else (a_scale,)),
        ArraySpec(name="b", dims=("N", bytes_of_b), dtype="u8", layout="rows"),
        ArraySpec(name="b_scale", dims=("N", scales), dtype="u8"),
        _BIAS,
    )


def _make_spec(base: str, suffix: str, formula: str) -> OpSpec:
    a_format, b_format = FORMATS[base]
    is_pair = suffix == "_swiglu"
    what = f"a is bf16, b {b_format}" if a_format == "bf16" else f"a and b are {b_format}"
    columns = COLUMNS[a_format]
    return OpSpec(
        name=f"{base}{suffix}",
        summary=f"out = {formula} of x = a b^T + bias; {what} with an e8m0 scale for 32 columns, as quant_mxfp4 and "
        "quant_mxfp8 leave them. Sums in f32, in one order.",
        dtype_axes=(("T", ("bf16",)),),
        inputs=_list_inputs(a_format, b_format),
        outputs=(_HALF if is_pair else _OUT,),
        scalars=(_INTERLEAVED,) if is_pair else (),
        constraints=(
            Constraint(
                formula=f"{columns} >= 32 and ({columns}) % 32 == 0", reason="K is no multiple of 32, an MX block"
            ),
            *((_PAIRS,) if is_pair else ()),
        ),
        source=MX_SOURCE,
    )


SPECS = tuple(
    _make_spec(base, suffix, formula)
    for base in FORMATS
    for suffix, formula in {**ACTIVATIONS, "_swiglu": PAIR_FORMULA}.items()
)
