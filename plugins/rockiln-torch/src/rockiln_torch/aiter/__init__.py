"""AITER's names and argument order → rockiln's ops; and AITER as one more who may run them. docs/aiter.md.

`from rockiln_torch import aiter` takes the place of `import aiter` for the functions of __all__, which write into the
same arguments and return the same as AITER's. Nothing here imports AITER before a call on a GPU would use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rockiln_kernels.lazy import make_lazy

if TYPE_CHECKING:
    from rockiln_torch.aiter.activations import gelu_and_mul, gelu_tanh_and_mul, silu_and_mul, silu_and_mul_quant
    from rockiln_torch.aiter.attention import flash_attn_func, flash_attn_varlen_func
    from rockiln_torch.aiter.decode import mla_decode_fwd, paged_attention_ragged, paged_attention_v1
    from rockiln_torch.aiter.gates import (
        biased_grouped_topk,
        fused_topk,
        grouped_topk,
        moe_fused_gate,
        topk_sigmoid,
        topk_softmax,
    )
    from rockiln_torch.aiter.gemms import gemm_a8w8, gemm_a8w8_blockscale, gemm_a8w8_bpreshuffle, gemm_a8w8_CK
    from rockiln_torch.aiter.moe import fused_moe
    from rockiln_torch.aiter.norms import (
        add_rmsnorm,
        add_rmsnorm_quant,
        rms_norm,
        rmsnorm,
        rmsnorm2d_fwd,
        rmsnorm2d_fwd_with_add,
        rmsnorm2d_fwd_with_add_dynamicquant,
        rmsnorm2d_fwd_with_dynamicquant,
        rmsnorm_quant,
    )
    from rockiln_torch.aiter.numbers import ActivationType, QuantType
    from rockiln_torch.aiter.quants import (
        dynamic_per_tensor_quant,
        dynamic_per_token_scaled_quant,
        get_hip_quant,
        per_group_quant_hip,
        per_tensor_quant_hip,
        per_token_quant_hip,
        static_per_tensor_quant,
    )
    from rockiln_torch.aiter.rope import (
        rope_cached_fwd,
        rope_cached_fwd_inplace,
        rope_cached_positions_2c_fwd,
        rope_cached_positions_2c_fwd_inplace,
        rope_cached_positions_fwd,
        rope_cached_positions_fwd_inplace,
        rope_cached_positions_offsets_2c_fwd_inplace,
        rotary_embedding_fwd,
    )
    from rockiln_torch.aiter.unsupported import UnsupportedArgumentError

__all__ = [
    "ActivationType",
    "QuantType",
    "UnsupportedArgumentError",
    "add_rmsnorm",
    "add_rmsnorm_quant",
    "biased_grouped_topk",
    "dynamic_per_tensor_quant",
    "dynamic_per_token_scaled_quant",
    "flash_attn_func",
    "flash_attn_varlen_func",
    "fused_moe",
    "fused_topk",
    "gelu_and_mul",
    "gelu_tanh_and_mul",
    "gemm_a8w8",
    "gemm_a8w8_CK",
    "gemm_a8w8_blockscale",
    "gemm_a8w8_bpreshuffle",
    "get_hip_quant",
    "grouped_topk",
    "mla_decode_fwd",
    "moe_fused_gate",
    "paged_attention_ragged",
    "paged_attention_v1",
    "per_group_quant_hip",
    "per_tensor_quant_hip",
    "per_token_quant_hip",
    "rms_norm",
    "rmsnorm",
    "rmsnorm2d_fwd",
    "rmsnorm2d_fwd_with_add",
    "rmsnorm2d_fwd_with_add_dynamicquant",
    "rmsnorm2d_fwd_with_dynamicquant",
    "rmsnorm_quant",
    "rope_cached_fwd",
    "rope_cached_fwd_inplace",
    "rope_cached_positions_2c_fwd",
    "rope_cached_positions_2c_fwd_inplace",
    "rope_cached_positions_fwd",
    "rope_cached_positions_fwd_inplace",
    "rope_cached_positions_offsets_2c_fwd_inplace",
    "rotary_embedding_fwd",
    "silu_and_mul",
    "silu_and_mul_quant",
    "static_per_tensor_quant",
    "topk_sigmoid",
    "topk_softmax",
]
_ROPES = ("", "_positions", "_positions_2c")
_find, __dir__ = make_lazy(
    __name__,
    {
        "activations": ("gelu_and_mul", "gelu_tanh_and_mul", "silu_and_mul", "silu_and_mul_quant"),
        "attention": ("flash_attn_func", "flash_attn_varlen_func"),
        "decode": ("mla_decode_fwd", "paged_attention_ragged", "paged_attention_v1"),
        "gates": (
            "biased_grouped_topk", "fused_topk", "grouped_topk", "moe_fused_gate", "topk_sigmoid", "topk_softmax",
        ),
        "gemms": ("gemm_a8w8", "gemm_a8w8_CK", "gemm_a8w8_blockscale", "gemm_a8w8_bpreshuffle"),
        "moe": ("fused_moe",),
        "norms": (
            "add_rmsnorm", "add_rmsnorm_quant", "rms_norm", "rmsnorm", "rmsnorm2d_fwd", "rmsnorm2d_fwd_with_add",
            "rmsnorm2d_fwd_with_add_dynamicquant", "rmsnorm2d_fwd_with_dynamicquant", "rmsnorm_quant",
        ),
        "numbers": ("ActivationType", "QuantType"),
        "quants": (
            "dynamic_per_tensor_quant", "dynamic_per_token_scaled_quant", "get_hip_quant", "per_group_quant_hip",
            "per_tensor_quant_hip", "per_token_quant_hip", "static_per_tensor_quant",
        ),
        "rope": (
            *(f"rope_cached{name}_fwd{suffix}" for name in _ROPES for suffix in ("", "_inplace")),
            "rope_cached_positions_offsets_2c_fwd_inplace", "rotary_embedding_fwd",
        ),
        "unsupported": ("UnsupportedArgumentError",),
    },
)  # fmt: skip
NOT_PROVIDED = {
    "gemm_a8w8_blockscale_bpreshuffle": "weights in shuffle_weight's order; gemm_a8w8_blockscale takes plain ones",
    "pa_fwd_asm": "its cache keeps 16 bytes of each head together; paged_attention_v1 takes NHD and HND",
    "paged_attention_rocm": "its cache keeps 16 bytes of each head together; paged_attention_v1 takes NHD and HND",
}
"""Functions of AITER that vLLM or SGLang call and that have no op of rockiln's here, and what to call instead."""


def __getattr__(name: str) -> Any:
    """A function of __all__. Raises AttributeError, for one of AITER's that is not here with what to do."""
    if name in NOT_PROVIDED:
        raise AttributeError(f"rockiln_torch.aiter has no {name}: {NOT_PROVIDED[name]}")
    return _find(name)
