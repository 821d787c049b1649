"""A function's name → arguments to call it with, as vLLM and SGLang do: required ones, and some optional ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

FP8 = torch.float8_e4m3fn
SILU, NO_QUANT, BLOCKS = 0, 0, 5
"""Of AITER's enumerations, by number."""
Values = dict[str, Any]


def _draw(*shape: int, dtype: torch.dtype = torch.bfloat16, scale: float = 1.0) -> Tensor:
    return (torch.randn(shape) * scale).to(dtype)


def _codes(*shape: int) -> Tensor:
    return _draw(*shape, dtype=FP8)


def _scales(*shape: int) -> Tensor:
    return torch.rand(shape) + 0.5


def _norm() -> Values:
    return {"input": _draw(6, 256), "weight": _draw(256), "epsilon": 1e-5}


def _norm_out(*names: str, gemma: bool = False) -> Values:
    targets = {
        "out": torch.zeros(6, 256, dtype=FP8 if {"scale", "yscale"} & {*names} else torch.bfloat16),
        "scale": torch.zeros(6, 1),
        "yscale": torch.zeros(6, 1),
        "residual_in": _draw(6, 256),
        "residual_out": torch.zeros(6, 256, dtype=torch.bfloat16),
    }
    own = {name: targets[name] for name in ("out", *names)}
    return {**own, **_norm(), **({"gemma_norm": True} if gemma else {})}


def _gate() -> Values:
    return {"out": torch.zeros(6, 128, dtype=torch.bfloat16), "input": _draw(6, 256)}


def _quant(scale: str, shape: tuple[int, ...], value: float = 0.0) -> Values:
    return {"out": torch.zeros(6, 256, dtype=FP8), "input": _draw(6, 256), scale: torch.full(shape, value)}


def _gemm(**more: Any) -> Values:
    return {"XQ": _codes(16, 128), "WQ": _codes(32, 128), "x_scale": _scales(16, 1), "w_scale": _scales(1, 32), **more}


def _shuffled() -> Values:
    values = _gemm()
    plain = values["WQ"]
    values["WQ"] = shuffle_weight(plain)
    values["WQ"].plain = plain
    return values


def shuffle_weight(weight: Tensor) -> Tensor:
    """Rows in groups of 16, columns in pieces of 16: a tile of 16 x 32 keeps its two halves of columns one by one."""
    rows, columns = weight.shape
    pieces = [
        weight[row : row + 16, column + half : column + half + 16].reshape(-1)
        for row in range(0, rows, 16)
        for column in range(0, columns, 32)
        for half in (0, 16)
    ]
    return torch.cat(pieces).view(rows, columns)


def _router(targets: str, *, top: int = 2, **more: Any) -> Values:
    return {"topk_weights": torch.zeros(6, top), targets: torch.zeros(6, top, dtype=torch.int32), **more}


def _grouped(**more: Any) -> Values:
    return {
        "gating_output": _draw(6, 16, dtype=torch.float32), **more, **_router("topk_ids"), "need_renorm": True,
        "routed_scaling_factor": 2.5,
    }  # fmt: skip


def _experts(weight: Callable[..., Tensor]) -> Values:
    return {
        "hidden_states": _draw(6, 128), "w1": weight(4, 256, 128), "w2": weight(4, 128, 128),
        "topk_weight": torch.rand(6, 2), "topk_ids": torch.randint(0, 4, (6, 2), dtype=torch.int32),
    }  # fmt: skip


def _packed(**more: Any) -> Values:
    starts = torch.tensor([0, 3, 8], dtype=torch.int32)
    return {
        "q": _draw(8, 4, 32), "k": _draw(8, 2, 32), "v": _draw(8, 2, 32), "cu_seqlens_q": starts,
        "cu_seqlens_k": starts.clone(), "max_seqlen_q": 5, "max_seqlen_k": 5, **more,
    }  # fmt: skip


def _dense(**more: Any) -> Values:
    return {"q": _draw(2, 5, 4, 32), "k": _draw(2, 7, 2, 32), "v": _draw(2, 7, 2, 32), **more}


def _paged(pages: Values, layout: str, fp8: bool = False) -> Values:
    shape = (9, 4, 2, 32) if layout == "NHD" else (9, 2, 4, 32)
    caches = [_codes(*shape) if fp8 else _draw(*shape) for _ in range(2)]
    return {
        "out": torch.zeros(2, 4, 32, dtype=torch.bfloat16), "workspace_buffer": torch.empty(0),
        "query": _draw(2, 4, 32),
        "key_cache": caches[0], "value_cache": caches[1], "scale": 0.2, **pages, "alibi_slopes": None,
        "kv_cache_dtype": "fp8" if fp8 else "auto", "kv_cache_layout": layout, "logits_soft_cap": 0.0,
        "k_scale": torch.full((1,), 0.5 if fp8 else 1.0), "v_scale": torch.full((1,), 2.0 if fp8 else 1.0),
    }  # fmt: skip


def _table() -> Values:
    tables = torch.tensor([[3, 1, 0], [2, 5, 8]], dtype=torch.int32)
    lens = torch.tensor([6, 11], dtype=torch.int32)
    return {"block_tables": tables, "cu_query_lens": None, "context_lens": lens, "max_context_len": 11}


def _ragged() -> Values:
    return {
        "kv_indptr": torch.tensor([0, 2, 5], dtype=torch.int32),
        "kv_page_indices": torch.tensor([3, 1, 2, 5, 8], dtype=torch.int32),
        "kv_last_page_lens": torch.tensor([2, 3], dtype=torch.int32), "block_size": 4, "max_num_partitions": 1,
    }  # fmt: skip


def _mla(queries: int, page: int = 1, **more: Any) -> Values:
    return {
        "q": _draw(2 * queries, 4, 576, scale=0.3), "kv_buffer": _draw(9, page, 1, 576, scale=0.3),
        "o": torch.zeros(2 * queries, 4, 512, dtype=torch.bfloat16),
        "qo_indptr": torch.tensor([0, queries, 2 * queries], dtype=torch.int32),
        "kv_indptr": torch.tensor([0, 2, 5], dtype=torch.int32),
        "kv_indices": torch.tensor([3, 1, 2, 5, 8], dtype=torch.int32),
        "kv_last_page_lens": torch.full((2,), page, dtype=torch.int32), "max_seqlen_q": queries, **more,
    }  # fmt: skip


def _rope(*names: str, style: int = 0, **more: Any) -> Values:
    count = 3 if "positions" not in more else 10
    angles = torch.rand(count, 1, 1, 8)
    return {
        **{name: _draw(3, 2, 4 - place, 32) for place, name in enumerate(names)}, "cos": angles.cos(),
        "sin": angles.sin(), **more, "rotate_style": style, "reuse_freqs_front_part": True, "nope_first": False,
    }  # fmt: skip


def _places() -> Tensor:
    return torch.randint(0, 5, (3, 2))


def _rotary() -> Values:
    angles = torch.rand(10, 16)
    return {
        "positions": torch.randint(0, 10, (6,)), "query": _draw(6, 128), "key": _draw(6, 64), "head_size": 32,
        "cos_cache": angles.cos(), "sin_cache": angles.sin(), "is_neox": False, "is_nope_first": False,
    }  # fmt: skip


CASES: tuple[tuple[str, Callable[[], Values]], ...] = (
    ("rms_norm", _norm),
    ("rmsnorm2d_fwd", _norm),
    ("rmsnorm", lambda: _norm_out(gemma=True)),
    ("add_rmsnorm", lambda: _norm_out("residual_in", "residual_out", gemma=True)),
    ("rmsnorm2d_fwd_with_add", lambda: _norm_out("residual_in", "residual_out")),
    ("rmsnorm_quant", lambda: _norm_out("scale")),
    ("rmsnorm2d_fwd_with_dynamicquant", lambda: _norm_out("yscale")),
    ("add_rmsnorm_quant", lambda: _norm_out("residual_in", "residual_out", "scale", gemma=True)),
    ("rmsnorm2d_fwd_with_add_dynamicquant", lambda: _norm_out("residual_in", "residual_out", "yscale")),
    ("silu_and_mul", _gate),
    ("gelu_and_mul", _gate),
    ("gelu_tanh_and_mul", _gate),
    (
        "silu_and_mul_quant",
        lambda: {
            "out": torch.zeros(6, 256, dtype=FP8), "input": _draw(6, 512), "scale": torch.zeros(6, 2), "group_size": 128
        },
    ),
    ("static_per_tensor_quant", lambda: _quant("scale", (1,), 0.25)),
    ("dynamic_per_tensor_quant", lambda: _quant("scale", (1,))),
    ("dynamic_per_token_scaled_quant", lambda: _quant("scales", (6, 1))),
    ("per_tensor_quant_hip", lambda: {"x": _draw(6, 256), "quant_dtype": FP8}),
    ("per_tensor_quant_hip", lambda: {"x": _draw(6, 256), "scale": torch.full((1,), 0.25), "quant_dtype": FP8}),
    ("per_token_quant_hip", lambda: {"x": _draw(6, 256), "quant_dtype": FP8}),
    ("per_group_quant_hip", lambda: {"x": _draw(6, 256), "quant_dtype": FP8, "group_size": 128}),
    ("gemm_a8w8", _gemm),
    ("gemm_a8w8_CK", lambda: _gemm(bias=_draw(32), splitK=2)),
    ("gemm_a8w8_bpreshuffle", lambda: {**_shuffled(), "bias": None, "dtype": torch.bfloat16}),
    (
        "gemm_a8w8_blockscale",
        lambda: {
            "XQ": _codes(16, 256), "WQ": _codes(128, 256), "x_scale": _scales(16, 2), "w_scale": _scales(1, 2),
            "dtype": torch.bfloat16,
        },
    ),
    (
        "topk_softmax",
        lambda: _router(
            "topk_indices", token_expert_indices=torch.zeros(6, 2, dtype=torch.int32), gating_output=_draw(6, 16),
            need_renorm=True,
        ),
    ),
    ("topk_sigmoid", lambda: _router("topk_indices", top=1, gating_output=_draw(6, 16))),
    (
        "biased_grouped_topk",
        lambda: _grouped(correction_bias=torch.rand(16), num_expert_group=4, topk_group=2),
    ),
    ("grouped_topk", lambda: _grouped(num_expert_group=1, topk_group=1)),
    ("grouped_topk", lambda: _grouped(num_expert_group=1, topk_group=1, is_softmax=False)),
    (
        "moe_fused_gate",
        lambda: {
            "input": _draw(6, 16, dtype=torch.float32), "bias": torch.rand(16), **_router("topk_ids"),
            "num_expert_group": 4, "topk_group": 2, "topk": 2, "n_share_experts_fusion": 0,
            "routed_scaling_factor": 2.5,
        },
    ),
    ("fused_topk", lambda: {"hidden_states": _draw(6, 8), "gating_output": _draw(6, 16), "topk": 2,
                            "renormalize": True}),
    ("fused_moe", lambda: _experts(_draw)),
    (
        "fused_moe",
        lambda: {
            **_experts(_codes), "activation": SILU, "quant_type": BLOCKS, "w1_scale": _scales(4, 2, 1) / 8,
            "w2_scale": _scales(4, 1, 1) / 8,
        },
    ),
    ("flash_attn_varlen_func", lambda: _packed(causal=True, return_lse=True, softmax_scale=0.3)),
    ("flash_attn_varlen_func", lambda: _packed(causal=True, window_size=(2, 0))),
    ("flash_attn_varlen_func", lambda: _packed(out=torch.zeros(8, 4, 32, dtype=torch.bfloat16))),
    ("flash_attn_func", lambda: _dense(causal=True, return_lse=True)),
    ("paged_attention_v1", lambda: _paged(_table(), "NHD")),
    ("paged_attention_v1", lambda: _paged(_table(), "HND", fp8=True)),
    ("paged_attention_ragged", lambda: _paged(_ragged(), "NHD")),
    ("mla_decode_fwd", lambda: _mla(1, sm_scale=0.1, logit_cap=0.0)),
    ("mla_decode_fwd", lambda: _mla(2, page=3, page_size=3, return_lse=True)),
    ("rope_cached_fwd", lambda: _rope("input", transpose_output=True)),
    ("rope_cached_fwd_inplace", lambda: _rope("input", style=1)),
    ("rope_cached_positions_fwd", lambda: _rope("input", style=1, positions=_places())),
    ("rope_cached_positions_fwd_inplace", lambda: _rope("input", positions=_places())),
    ("rope_cached_positions_2c_fwd", lambda: _rope("input_x", "input_y", positions=_places(), transpose_output=True)),
    ("rope_cached_positions_2c_fwd_inplace", lambda: _rope("input_x", "input_y", positions=_places())),
    (
        "rope_cached_positions_offsets_2c_fwd_inplace",
        lambda: _rope("input_x", "input_y", positions=_places(), offsets=_places()),
    ),
    ("rotary_embedding_fwd", _rotary),
)  # fmt: skip
"""Calls; one with an argument that a commit does not know is left out there."""
