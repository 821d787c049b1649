"""Every op of rockiln as a typed function → the outputs. Made by rockiln_torch.generate of the specs.

Each calls torch.ops.rockiln.NAME; with `out=` it writes into your tensors, and calls torch.ops.rockiln.NAME_out.
Wrong dtypes raise TypeError, wrong shapes and numbers ValueError, both with the rule that is broken.
"""

from __future__ import annotations

from rockiln_torch.ops.attention_prefill import attention_prefill, attention_prefill_backward
from rockiln_torch.ops.fused_moe import fused_moe
from rockiln_torch.ops.fused_moe_narrow import fused_moe_fp8, fused_moe_mxfp4
from rockiln_torch.ops.gelu_and_mul import gelu_and_mul, gelu_and_mul_backward, gelu_and_mul_fp8, gelu_and_mul_mxfp4
from rockiln_torch.ops.gelu_tanh_and_mul import (
    gelu_tanh_and_mul,
    gelu_tanh_and_mul_backward,
    gelu_tanh_and_mul_fp8,
    gelu_tanh_and_mul_mxfp4,
)
from rockiln_torch.ops.gemm import gemm, gemm_gelu, gemm_gelu_tanh, gemm_silu, gemm_swiglu
from rockiln_torch.ops.gemm_fp8 import (
    gemm_fp8,
    gemm_fp8_block,
    gemm_fp8_block_gelu,
    gemm_fp8_block_gelu_tanh,
    gemm_fp8_block_silu,
    gemm_fp8_block_swiglu,
    gemm_fp8_gelu,
    gemm_fp8_gelu_tanh,
    gemm_fp8_silu,
    gemm_fp8_swiglu,
)
from rockiln_torch.ops.gemm_mx import (
    gemm_mxfp4,
    gemm_mxfp4_gelu,
    gemm_mxfp4_gelu_tanh,
    gemm_mxfp4_silu,
    gemm_mxfp4_swiglu,
    gemm_mxfp4_weights,
    gemm_mxfp4_weights_gelu,
    gemm_mxfp4_weights_gelu_tanh,
    gemm_mxfp4_weights_silu,
    gemm_mxfp4_weights_swiglu,
    gemm_mxfp8,
    gemm_mxfp8_gelu,
    gemm_mxfp8_gelu_tanh,
    gemm_mxfp8_silu,
    gemm_mxfp8_swiglu,
    gemm_mxfp8_weights,
    gemm_mxfp8_weights_gelu,
    gemm_mxfp8_weights_gelu_tanh,
    gemm_mxfp8_weights_silu,
    gemm_mxfp8_weights_swiglu,
)
from rockiln_torch.ops.mla_decode import mla_decode, mla_decode_fp8
from rockiln_torch.ops.moe_align import moe_align
from rockiln_torch.ops.paged_decode import paged_decode, paged_decode_fp8
from rockiln_torch.ops.quant_fp8 import (
    quant_fp8_block,
    quant_fp8_group,
    quant_fp8_static,
    quant_fp8_tensor,
    quant_fp8_token,
)
from rockiln_torch.ops.quant_mxfp4 import dequant_mxfp4, quant_mxfp4
from rockiln_torch.ops.quant_mxfp6 import dequant_mxfp6, quant_mxfp6
from rockiln_torch.ops.quant_mxfp8 import dequant_mxfp8, quant_mxfp8
from rockiln_torch.ops.rms_norm import (
    add_rms_norm,
    add_rms_norm_fp8,
    add_rms_norm_mxfp4,
    rms_norm,
    rms_norm_backward,
    rms_norm_fp8,
    rms_norm_mxfp4,
)
from rockiln_torch.ops.rope import rope, rope_backward
from rockiln_torch.ops.silu_and_mul import silu_and_mul, silu_and_mul_backward, silu_and_mul_fp8, silu_and_mul_mxfp4
from rockiln_torch.ops.stream_k_gemm import stream_k_gemm
from rockiln_torch.ops.swiglu_and_mul import (
    swiglu_and_mul,
    swiglu_and_mul_backward,
    swiglu_and_mul_fp8,
    swiglu_and_mul_mxfp4,
)
from rockiln_torch.ops.topk_gating import topk_sigmoid, topk_softmax

__all__ = [
    "add_rms_norm",
    "add_rms_norm_fp8",
    "add_rms_norm_mxfp4",
    "attention_prefill",
    "attention_prefill_backward",
    "dequant_mxfp4",
    "dequant_mxfp6",
    "dequant_mxfp8",
    "fused_moe",
    "fused_moe_fp8",
    "fused_moe_mxfp4",
    "gelu_and_mul",
    "gelu_and_mul_backward",
    "gelu_and_mul_fp8",
    "gelu_and_mul_mxfp4",
    "gelu_tanh_and_mul",
    "gelu_tanh_and_mul_backward",
    "gelu_tanh_and_mul_fp8",
    "gelu_tanh_and_mul_mxfp4",
    "gemm",
    "gemm_fp8",
    "gemm_fp8_block",
    "gemm_fp8_block_gelu",
    "gemm_fp8_block_gelu_tanh",
    "gemm_fp8_block_silu",
    "gemm_fp8_block_swiglu",
    "gemm_fp8_gelu",
    "gemm_fp8_gelu_tanh",
    "gemm_fp8_silu",
    "gemm_fp8_swiglu",
    "gemm_gelu",
    "gemm_gelu_tanh",
    "gemm_mxfp4",
    "gemm_mxfp4_gelu",
    "gemm_mxfp4_gelu_tanh",
    "gemm_mxfp4_silu",
    "gemm_mxfp4_swiglu",
    "gemm_mxfp4_weights",
    "gemm_mxfp4_weights_gelu",
    "gemm_mxfp4_weights_gelu_tanh",
    "gemm_mxfp4_weights_silu",
    "gemm_mxfp4_weights_swiglu",
    "gemm_mxfp8",
    "gemm_mxfp8_gelu",
    "gemm_mxfp8_gelu_tanh",
    "gemm_mxfp8_silu",
    "gemm_mxfp8_swiglu",
    "gemm_mxfp8_weights",
    "gemm_mxfp8_weights_gelu",
    "gemm_mxfp8_weights_gelu_tanh",
    "gemm_mxfp8_weights_silu",
    "gemm_mxfp8_weights_swiglu",
    "gemm_silu",
    "gemm_swiglu",
    "mla_decode",
    "mla_decode_fp8",
    "moe_align",
    "paged_decode",
    "paged_decode_fp8",
    "quant_fp8_block",
    "quant_fp8_group",
    "quant_fp8_static",
    "quant_fp8_tensor",
    "quant_fp8_token",
    "quant_mxfp4",
    "quant_mxfp6",
    "quant_mxfp8",
    "rms_norm",
    "rms_norm_backward",
    "rms_norm_fp8",
    "rms_norm_mxfp4",
    "rope",
    "rope_backward",
    "silu_and_mul",
    "silu_and_mul_backward",
    "silu_and_mul_fp8",
    "silu_and_mul_mxfp4",
    "stream_k_gemm",
    "swiglu_and_mul",
    "swiglu_and_mul_backward",
    "swiglu_and_mul_fp8",
    "swiglu_and_mul_mxfp4",
    "topk_sigmoid",
    "topk_softmax",
]
