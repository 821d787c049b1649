"""quant_fp8's family → SPECS."""

from __future__ import annotations

from rockiln_kernels.shared_spec import FLOATS, FP8, OFP8_SOURCE
from rockiln_kernels.spec import ArraySpec, OpSpec

_X = ArraySpec(name="x", dims=("M", "N"), dtype="T", layout="rows", folds_leading=True)
_PLAIN_X = ArraySpec(name="x", dims=("M", "N"), dtype="T", layout="rows")
_Q = ArraySpec(name="q", dims=("M", "N"), dtype="Q", folds_leading=True)
_RULE = "max|x| / largest fp8, at least 1e-12; q = x / q_scale, to nearest even, saturated; NaN makes its scale NaN"


def _make_spec(name: str, per: str, scale_dims: tuple[str, ...], *, folds: bool = True) -> OpSpec:
    scale = ArraySpec(name="q_scale", dims=scale_dims, dtype="f32", folds_leading=folds and len(scale_dims) == 2)
    return OpSpec(
        name=name,
        summary=f"x in fp8 with one q_scale for {per}: {_RULE}.",
        dtype_axes=(FLOATS, FP8),
        inputs=(_X if folds else _PLAIN_X,),
        outputs=(_Q, scale),
        source=OFP8_SOURCE,
    )


SPECS = (
    _make_spec("quant_fp8_token", "each row", ("M",)),
    _make_spec("quant_fp8_tensor", "the whole array", ("1",)),
    _make_spec("quant_fp8_group", "128 values of a row", ("M", "cdiv(N, 128)")),
    _make_spec("quant_fp8_block", "128 x 128 values", ("cdiv(M, 128)", "cdiv(N, 128)"), folds=False),
    OpSpec(
        name="quant_fp8_static",
        summary="q = x / scale in fp8, to nearest even, saturated; NaN stays NaN.",
        dtype_axes=(FLOATS, FP8),
        inputs=(_X, ArraySpec(name="scale", dims=("1",), dtype="f32")),
        outputs=(_Q,),
        source=OFP8_SOURCE,
    ),
)
