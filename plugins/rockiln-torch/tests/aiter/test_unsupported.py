"""What AITER's functions take and rockiln's ops do not: one clear error each, before anything is written."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from fake_aiter.cases import CASES
from fake_aiter.references import QuantType
from rockiln_torch import aiter as names

REFUSED: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("rms_norm", {"use_model_sensitive_rmsnorm": 1}, "use_model_sensitive_rmsnorm = 1 is not supported, only 0"),
    ("rmsnorm2d_fwd_with_add", {"use_model_sensitive_rmsnorm": 1}, "use_model_sensitive_rmsnorm = 1"),
    ("rmsnorm2d_fwd_with_dynamicquant", {"group_size": 128}, "group_size = 128 is not supported, only 0"),
    ("add_rmsnorm_quant", {"shuffle_scale": True}, "shuffle_scale = True is not supported, only False"),
    ("silu_and_mul_quant", {"group_size": 64}, "group_size = 64 is not supported, only 128"),
    ("dynamic_per_token_scaled_quant", {"scale_ub": torch.ones(1)}, "scale_ub = a tensor \\[1\\] is not supported"),
    ("dynamic_per_token_scaled_quant", {"scales": torch.zeros(6, 2)[:, :1]}, "scales \\[6, 1\\] is not contiguous"),
    ("per_token_quant_hip", {"quant_dtype": torch.int8}, "quant_dtype is torch.int8; name an fp8"),
    ("per_token_quant_hip", {"scale": torch.ones(1)}, "scale = a tensor"),
    ("per_group_quant_hip", {"transpose_scale": True}, "transpose_scale = True"),
    ("per_group_quant_hip", {"x": torch.ones(2, 100)}, "rows of 100 values are no whole groups of 128"),
    ("gemm_a8w8", {"dtype": torch.float16}, "dtype = torch.float16 is not supported, only torch.bfloat16"),
    ("gemm_a8w8_bpreshuffle", {"bias": torch.ones(32)}, "bias = a tensor"),
    ("gemm_a8w8_bpreshuffle", {"WQ": torch.ones(17, 128)}, "WQ \\[17, 128\\] of torch.float32 is no shuffled weight"),
    ("gemm_a8w8_blockscale", {"isBpreshuffled": True}, "isBpreshuffled = True"),
    ("topk_softmax", {"num_shared_experts": 1}, "num_shared_experts = 1"),
    ("grouped_topk", {"num_expert_group": 4}, "num_expert_group = 4 is not supported without a bias, only 1"),
    ("moe_fused_gate", {"n_share_experts_fusion": 1}, "n_share_experts_fusion = 1"),
    ("moe_fused_gate", {"topk": 3}, "topk = 3 is not supported, only 2"),
    ("fused_topk", {"hidden_states": torch.ones(5, 8)}, "5 hidden states, but 6 rows"),
    ("fused_moe", {"activation": 2}, "activation = 2 is not supported, only Silu"),
    ("fused_moe", {"quant_type": QuantType.per_1x32}, "per_1x32.* is not supported, only No and per_128x128"),
    ("fused_moe", {"quant_type": 5}, "w1_scale and w2_scale are missing"),
    ("fused_moe", {"w1_scale": torch.ones(1)}, "w1_scale = a tensor"),
    ("fused_moe", {"doweight_stage1": True}, "doweight_stage1 = True"),
    ("fused_moe", {"expert_mask": torch.ones(4)}, "expert_mask = a tensor"),
    ("fused_moe", {"shared_expert_id": 3}, "shared_expert_id = 3 is not supported, only -1"),
    ("fused_moe", {"swiglu_limit": 7.0}, "swiglu_limit = 7.0"),
    ("fused_moe", {"gate_mode": "interleave"}, "gate_mode = 'interleave' is not supported, only 'separated'"),
    ("fused_moe", {"dtype": torch.float32}, "dtype = torch.float32 is not that of hidden_states, torch.bfloat16"),
    ("flash_attn_varlen_func", {"dropout_p": 0.1}, "dropout_p = 0.1 is not supported, only 0.0"),
    ("flash_attn_varlen_func", {"block_table": torch.ones(1)}, "block_table = a tensor"),
    ("flash_attn_varlen_func", {"window_size": (4, 4), "causal": False}, "keys on the right are cut"),
    ("flash_attn_varlen_func", {"window_size": (4, 0, 2)}, "keys at the start as a sink"),
    ("flash_attn_func", {"alibi_slopes": torch.ones(4)}, "alibi_slopes = a tensor"),
    (
        "paged_attention_v1",
        {"kv_cache_layout": "DNH"},
        "kv_cache_layout = 'DNH' is not supported, only 'NHD' and 'HND'",
    ),
    ("paged_attention_v1", {"kv_cache_dtype": "fp8_e5m2"}, "kv_cache_dtype = 'fp8_e5m2' is not supported"),
    ("paged_attention_v1", {"logits_soft_cap": 30.0}, "logits_soft_cap = 30.0"),
    ("paged_attention_ragged", {"mtp": 2}, "mtp = 2 is not supported, only 1"),
    ("mla_decode_fwd", {"max_seqlen_q": 2}, "2 queries are not 2 for each of 2 sequences"),
    ("mla_decode_fwd", {"cp_world_size": 2}, "cp_world_size = 2"),
    ("mla_decode_fwd", {"logit_cap": 30.0}, "logit_cap = 30.0"),
    ("rope_cached_fwd", {"nope_first": True}, "nope_first = True"),
    ("rope_cached_fwd", {"rotate_style": 2}, "rotate_style = 2 is not supported, only 0 .NeoX. and 1 .GPT-J."),
    ("rope_cached_positions_fwd", {"reuse_freqs_front_part": False}, "reuse_freqs_front_part = False"),
    ("rotary_embedding_fwd", {"is_nope_first": True}, "is_nope_first = True"),
)


@pytest.mark.parametrize(
    ("name", "change", "message"), REFUSED, ids=[f"{item[0]}-{next(iter(item[1]))}" for item in REFUSED]
)
def test_what_is_not_supported_is_refused_by_name(name: str, change: dict[str, Any], message: str) -> None:
    values = {**next(make for known, make in CASES if known == name)(), **change}
    targets = {key: value.clone() for key, value in values.items() if isinstance(value, torch.Tensor)}
    with pytest.raises(names.UnsupportedArgumentError, match=rf"rockiln_torch\.aiter\.{name}: .*{message}"):
        getattr(names, name)(**values)
    for key, before in targets.items():
        assert torch.equal(_read_bytes(values[key]), _read_bytes(before)), key


def _read_bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().flatten().view(torch.uint8)


def test_shuffled_weights_that_say_so_are_refused() -> None:
    values = next(make for known, make in CASES if known == "fused_moe")()
    values["w1"].is_shuffled = True
    with pytest.raises(names.UnsupportedArgumentError, match="w1 or w2 is in shuffle_weight's order; give plain"):
        names.fused_moe(**values)


@pytest.mark.parametrize(
    ("args", "words", "message"),
    [
        ((None,), {"expert_mask": None}, "multiple values for argument 'expert_mask'"),
        ((), {"experts_mask": None}, "unexpected keyword argument 'experts_mask'"),
        ((None,) * 40, {}, "takes from 5 to 32 positional arguments but 45 were given"),
    ],
)
def test_wrong_calls_are_pythons_own_errors(args: tuple[Any, ...], words: dict[str, Any], message: str) -> None:
    values = list(next(make for known, make in CASES if known == "fused_moe")().values())
    with pytest.raises(TypeError, match=message):
        names.fused_moe(*values, *args, **words)


def test_the_ops_own_errors_are_left_as_they_are() -> None:
    with pytest.raises(TypeError, match=r"rockiln::silu_and_mul_out: y is torch\.float16, not"):
        names.silu_and_mul(torch.zeros(2, 4, dtype=torch.float16), torch.zeros(2, 8, dtype=torch.bfloat16))


def test_get_hip_quant_takes_either_enumeration() -> None:
    x = torch.randn(4, 256, dtype=torch.bfloat16)
    for kind in (names.QuantType.per_Token, QuantType.per_Token, 2):
        q, scale = names.get_hip_quant(kind)(x, quant_dtype=torch.float8_e4m3fn)
        assert (q.dtype, scale.shape) == (torch.float8_e4m3fn, (4, 1))
    assert names.get_hip_quant(names.QuantType.per_1x128)(x, quant_dtype=torch.float8_e4m3fn)[1].shape == (4, 2)
    assert names.get_hip_quant(names.QuantType.No)(x)[0] is x
    with pytest.raises(
        names.UnsupportedArgumentError, match=r"per_1x32.* only No, per_Tensor, per_Token and per_1x128"
    ):
        names.get_hip_quant(names.QuantType.per_1x32)
