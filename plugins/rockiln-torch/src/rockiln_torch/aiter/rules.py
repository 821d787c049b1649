"""Which calls of which ops AITER computes the same, and where in its source that stands; data, read by judge.py.

Read at ROCm/aiter 1b00a0e8 (v0.1.6.post1) and e4048607. Nothing of it has been run: no AMD GPU was at hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field

CDNA = ("gfx942", "gfx950")
"""What AITER's README calls supported; RDNA is experimental there."""
HALVES = ("f16", "bf16")
_NORM = "aiter/ops/rmsnorm.py, csrc/kernels/rmsnorm_quant_kernels.cu"
_ACTIVATION = "aiter/ops/activation.py, csrc/kernels/activation_kernels.cu"
_QUANT = "aiter/ops/quant.py, csrc/kernels/quant_kernels.cu"
_GEMM = "aiter/ops/gemm_op_a8w8.py, csrc/ck_gemm_a8w8"
_ZEROS = "of nothing but zeros it makes the scale 0, and codes of 0 / 0"
_NO_OFFSET = ("weight_offset == 0", "it multiplies by weight, without an offset")
_WIDTH = ("N <= 8192 and N % 8 == 0", "rows are more than 8192 values, or no multiple of 8")
_GATE = (
    ("limit == 0", "its cut is not in v0.1.6"),
    ("interleaved == 0", "it takes gate, then up"),
    ("D2 % 16 == 0", "half a row is no multiple of 8 values"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One op: the function that computes it, and what must hold for that."""

    op: str
    function: str
    modules: tuple[str, ...]
    """Its JIT module under the names that it has had; () where the name depends on the call."""
    source: str
    dtypes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Axis of the op's spec → members."""
    conditions: tuple[tuple[str, str], ...] = ()
    """A formula over the op's dims and scalars, and what is wrong where it does not hold."""
    absent: tuple[str, ...] = ()
    """Optional inputs that must be left out."""
    archs: tuple[str, ...] = CDNA
    native_fp8: tuple[str, ...] = ()
    """Axes that must be the arch's own e4m3: AITER has one fp8 type, fixed at its import."""


def _norm(op: str, function: str, *, quantises: bool = False) -> Rule:
    return Rule(
        op=op,
        function=f"aiter.{function}",
        modules=("module_rmsnorm_quant",) if quantises else ("module_rmsnorm_quant", "module_rmsnorm"),
        source=_NORM,
        dtypes={"T": HALVES},
        conditions=(_NO_OFFSET, _WIDTH),
        native_fp8=("Q",) if quantises else (),
    )


def _gate(op: str) -> Rule:
    return Rule(
        op=op,
        function=f"aiter.{op}",
        modules=("module_activation",),
        source=_ACTIVATION,
        dtypes={"T": HALVES},
        conditions=_GATE,
    )


def _quant(op: str, function: str, *conditions: tuple[str, str]) -> Rule:
    return Rule(
        op=op,
        function=f"aiter.{function}",
        modules=("module_quant",),
        source=_QUANT,
        dtypes={"T": HALVES},
        conditions=(("N % 8 == 0", "rows are no multiple of 8 values"), *conditions),
        native_fp8=("Q",),
    )


_ROWS = (
    _norm("rms_norm", "rms_norm"),
    _norm("add_rms_norm", "rmsnorm2d_fwd_with_add"),
    _norm("rms_norm_fp8", "rmsnorm2d_fwd_with_dynamicquant", quantises=True),
    _norm("add_rms_norm_fp8", "rmsnorm2d_fwd_with_add_dynamicquant", quantises=True),
    _gate("silu_and_mul"),
    _gate("gelu_and_mul"),
    _gate("gelu_tanh_and_mul"),
    _quant("quant_fp8_static", "static_per_tensor_quant"),
    _quant("quant_fp8_group", "per_group_quant_hip", ("N % 128 == 0", "rows are no whole groups of 128")),
    Rule(
        op="gemm_fp8",
        function="aiter.gemm_a8w8",
        modules=("module_gemm_a8w8",),
        source=_GEMM,
        conditions=(
            ("SA == M and SB == N", "its scales are one a row of a and one a row of b"),
            ("K % 16 == 0 and N % 8 == 0", "K is no multiple of 16, or N none of 8"),
        ),
        absent=("bias",),
        native_fp8=("Q",),
    ),
    Rule(
        op="gemm_fp8_block",
        function="aiter.gemm_a8w8_blockscale",
        modules=("module_gemm_a8w8_blockscale",),
        source="aiter/ops/gemm_op_a8w8.py, csrc/ck_gemm_a8w8_blockscale",
        conditions=(("K % 128 == 0 and N % 128 == 0", "K or N is no whole number of blocks of 128"),),
        absent=("bias",),
        native_fp8=("Q",),
    ),
    Rule(
        op="topk_softmax",
        function="aiter.topk_softmax",
        modules=("module_moe_asm",),
        source="aiter/ops/moe_op.py, csrc/kernels/topk_softmax_kernels.cu",
        conditions=(
            ("scaling == 1", "it does not scale"),
            ("E % 8 == 0 and E <= 512", "the experts are no multiple of 8, or more than 512"),
        ),
    ),
    Rule(
        op="attention_prefill",
        function="aiter.flash_attn_varlen_func",
        modules=(),
        source="aiter/ops/mha.py",
        conditions=(("D % 8 == 0 and D <= 256 and DV <= 256", "head sizes are no multiple of 8, or more than 256"),),
        absent=("sinks",),
    ),
)
RULES = {rule.op: rule for rule in _ROWS}
"""By op."""
OTHERWISE = {
    "fused_moe": "its kernels take weights in shuffle_weight's order, rockiln's are plain",
    "fused_moe_fp8": "its kernels take weights in shuffle_weight's order, and round activations to fp8",
    "fused_moe_mxfp4": "its kernels take weights in shuffle_weight's order, and round activations",
    "gemm": "its 16-bit GEMMs are hipBLASLt's, as torch's own",
    "mla_decode": "it takes lists of pages, not a table: making them would wait for the GPU",
    "mla_decode_fp8": "it takes lists of pages, not a table: making them would wait for the GPU",
    "moe_align": "it also counts the tokens of each expert, in another order of blocks",
    "paged_decode": "it gives no log of the softmax's sum",
    "paged_decode_fp8": "it gives no log of the softmax's sum",
    "quant_fp8_tensor": _ZEROS,
    "quant_fp8_token": _ZEROS,
    "quant_mxfp4": "it rounds block scales up, rockiln to nearest",
    "rope": "it takes [s, b, h, d] and positions of 64 bits",
    "topk_sigmoid": "the order of its choices is not promised",
}
"""Ops of rockiln that AITER has something like, and why that is not called."""
NOT_THERE = "it has no function that computes this op"
