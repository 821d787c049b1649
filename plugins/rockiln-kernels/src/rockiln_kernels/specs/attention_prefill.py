"""attention_prefill → SPECS: softmax attention of packed sequences."""

from __future__ import annotations

from rockiln_kernels.shared_spec import HALVES
from rockiln_kernels.spec import ArraySpec, Constraint, Gradient, OpSpec, ScalarSpec

_Q = ArraySpec(name="q", dims=("TQ", "HQ", "D"), dtype="T", layout="rows")
_K = ArraySpec(name="k", dims=("TK", "HK", "D"), dtype="T", layout="rows")
_V = ArraySpec(name="v", dims=("TK", "HK", "DV"), dtype="T", layout="rows")
_STARTS = (
    ArraySpec(name="cu_seqlens_q", dims=("B1",), dtype="i32"),
    ArraySpec(name="cu_seqlens_k", dims=("B1",), dtype="i32"),
)
_SINKS = ArraySpec(name="sinks", dims=("HQ",), dtype="f32", optional=True)
_OUT = ArraySpec(name="out", dims=("TQ", "HQ", "DV"), dtype="T")
_LSE = ArraySpec(name="lse", dims=("HQ", "TQ"), dtype="f32")
_SCALARS = (
    ScalarSpec(name="scale", kind="f32"),
    ScalarSpec(name="max_seqlen_q", kind="i32"),
    ScalarSpec(name="max_seqlen_k", kind="i32", default=0),
    ScalarSpec(name="causal", kind="bool", default=True),
    ScalarSpec(name="window_left", kind="i32", default=-1),
)
_RULES = (
    Constraint(formula="HK >= 1 and HQ % HK == 0", reason="the heads of q are no multiple of the heads of k"),
    Constraint(formula="B1 >= 2", reason="there is no sequence"),
)

_GRADIENT = Gradient(
    op="attention_prefill_backward",
    inputs=(
        *((name, name) for name in ("q", "k", "v", "out", "lse")),
        ("dout", "grad out"),
        *((array.name, array.name) for array in _STARTS),
    ),
    outputs=(("dq", "q"), ("dk", "k"), ("dv", "v")),
)

SPECS = (
    OpSpec(
        name="attention_prefill",
        summary="out = softmax(scale * q k^T) v for each sequence and head, lse = log of the softmax's sum. "
        "Sequences are packed: cu_seqlens hold where each starts, and the end. The last query stands at the last "
        "key; with causal a query sees no later key, with window_left >= 0 at most that many before its own. A sink "
        "is a logit of its own in each sum, lse included, without a value. A query that sees no key gives 0, and "
        "lse -inf. A NaN in v may reach queries that do not see its key. Deterministic: keys are taken in one order.",
        dtype_axes=(HALVES,),
        inputs=(_Q, _K, _V, *_STARTS, _SINKS),
        outputs=(_OUT, _LSE),
        scalars=_SCALARS,
        constraints=_RULES,
        gradient=_GRADIENT,
        source="Dao, https://arxiv.org/abs/2307.08691; sinks: https://arxiv.org/abs/2508.10925",
    ),
    OpSpec(
        name="attention_prefill_backward",
        summary="dq, dk and dv of attention_prefill, from its inputs, out, lse and dout. The gradient of lse counts "
        "as 0, and that of sinks is not computed. max_seqlen_k, if it is known, saves empty programs. "
        "Deterministic: two kernels, each gradient one sum in one order.",
        dtype_axes=(HALVES,),
        inputs=(
            _Q,
            _K,
            _V,
            ArraySpec(name="out", dims=("TQ", "HQ", "DV"), dtype="T", layout="rows"),
            _LSE,
            ArraySpec(name="dout", dims=("TQ", "HQ", "DV"), dtype="T", layout="rows"),
            *_STARTS,
        ),
        outputs=(
            ArraySpec(name="dq", dims=("TQ", "HQ", "D"), dtype="T"),
            ArraySpec(name="dk", dims=("TK", "HK", "D"), dtype="T"),
            ArraySpec(name="dv", dims=("TK", "HK", "DV"), dtype="T"),
        ),
        scalars=_SCALARS,
        constraints=_RULES,
        source="Dao, https://arxiv.org/abs/2307.08691",
    ),
)
