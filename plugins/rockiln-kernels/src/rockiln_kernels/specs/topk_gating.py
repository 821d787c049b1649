"""topk_softmax and topk_sigmoid → SPECS: which experts a token goes to, and with what weights."""

from __future__ import annotations

from rockiln_kernels.shared_spec import FLOATS
from rockiln_kernels.spec import ArraySpec, Constraint, OpSpec, ScalarSpec

_LOGITS = ArraySpec(name="logits", dims=("M", "E"), dtype="T", layout="rows", folds_leading=True)
_BIAS = ArraySpec(name="bias", dims=("E",), dtype="f32", optional=True)
_OUTPUTS = (
    ArraySpec(name="weights", dims=("M", "top"), dtype="f32", folds_leading=True),
    ArraySpec(name="ids", dims=("M", "top"), dtype="i32", folds_leading=True),
)
_TOP = ScalarSpec(name="top", kind="i32")
_RENORMALISE = ScalarSpec(name="renormalise", kind="bool", default=True)
_SCALING = ScalarSpec(name="scaling", kind="f32", default=1.0)
_FITS = Constraint(formula="E >= 1 and top >= 1 and top <= E", reason="top is not within 1 and the number of experts")
_FEW = Constraint(formula="top <= 32 and E <= 1024", reason="there are more than 32 choices or 1024 experts")
_ORDER = (
    "The choices come in order, the largest first, and of equals the lower expert; NaN counts as the smallest. With "
    "renormalise the weights are divided by their sum; then they are multiplied by scaling. Deterministic."
)

SPECS = (
    OpSpec(
        name="topk_softmax",
        summary=f"ids = the top experts by logits, weights = their softmax over all experts. {_ORDER}",
        dtype_axes=(FLOATS,),
        inputs=(_LOGITS,),
        outputs=_OUTPUTS,
        scalars=(_TOP, _RENORMALISE, _SCALING),
        constraints=(_FITS, _FEW),
    ),
    OpSpec(
        name="topk_sigmoid",
        summary="ids = the top experts by sigmoid(logits) + bias, weights = their sigmoid(logits). With groups > 1 the "
        "experts are that many equal groups, and only the keep groups count whose two best choices have the largest "
        f"sum. {_ORDER}",
        dtype_axes=(FLOATS,),
        inputs=(_LOGITS, _BIAS),
        outputs=_OUTPUTS,
        scalars=(
            _TOP,
            _RENORMALISE,
            _SCALING,
            ScalarSpec(name="groups", kind="i32", default=1),
            ScalarSpec(name="keep", kind="i32", default=1),
        ),
        constraints=(
            _FITS,
            _FEW,
            Constraint(
                formula="groups >= 1 and groups <= 32 and E % groups == 0",
                reason="the experts are not at most 32 groups of equal size",
            ),
            Constraint(formula="keep >= 1 and keep <= groups", reason="keep is not within 1 and groups"),
            Constraint(formula="top <= E // groups * keep", reason="the kept groups have fewer than top experts"),
        ),
        source="DeepSeek-V3 Technical Report, https://arxiv.org/abs/2412.19437",
    ),
)
