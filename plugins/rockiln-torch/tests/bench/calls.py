"""Models' shapes → the calls that are timed on a CPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

TOKENS = 512
GATES = ("silu_and_mul", "gelu_and_mul", "gelu_tanh_and_mul", "swiglu_and_mul")
GEMMS = ("gemm", "gemm_silu", "gemm_gelu", "gemm_gelu_tanh", "gemm_swiglu", "stream_k_gemm")
QUANTS = ("quant_fp8_token", "quant_fp8_tensor", "quant_fp8_group")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One call; its spelling takes the same."""

    op: str
    shape: str
    tensors: tuple[Tensor, ...]
    words: dict[str, Any] = field(default_factory=dict)


def list_calls(dtype: torch.dtype) -> Iterator[Timed]:
    """Every call in `dtype`. Widths are of Qwen3-235B, DeepSeek V3 and gpt-oss, as shapes.toml has them."""
    torch.manual_seed(0)
    yield from _list_rows(dtype)
    yield from _list_products(dtype)
    yield from _list_attention(dtype)
    yield from _list_experts(dtype)


def _list_rows(dtype: torch.dtype) -> Iterator[Timed]:
    for tokens, width in ((TOKENS, 4096), (TOKENS, 7168), (16, 4096)):
        x, weight = torch.randn(tokens, width).to(dtype), torch.randn(width).to(dtype)
        yield Timed(op="rms_norm", shape=f"{tokens}x{width}", tensors=(x, weight))
        yield Timed(op="add_rms_norm", shape=f"{tokens}x{width}", tensors=(x, x.flip(0), weight))
        for op in QUANTS:
            yield Timed(op=op, shape=f"{tokens}x{width}", tensors=(x,), words={"out_dtype": torch.float8_e4m3fn})
    for tokens, width in ((TOKENS, 1536), (TOKENS, 2048), (16, 2048)):
        x = torch.randn(tokens, 2 * width).to(dtype)
        yield from (Timed(op=op, shape=f"{tokens}x{2 * width}", tensors=(x,)) for op in GATES)
    for tokens, heads in ((TOKENS, 64), (16, 64)):
        angles = torch.rand(TOKENS, 64) * 6.0
        places = torch.arange(tokens, dtype=torch.int32)
        x = torch.randn(tokens, heads, 128).to(dtype)
        yield Timed(op="rope", shape=f"{tokens}x{heads}x128", tensors=(x, angles.cos(), angles.sin(), places))


def _list_products(dtype: torch.dtype) -> Iterator[Timed]:
    for m, n, k in ((TOKENS, 1536, 2048), (16, 2880, 2880), (1, 4096, 4096)):
        a, b = torch.randn(m, k).to(dtype), torch.randn(n, k).to(dtype)
        yield from (Timed(op=op, shape=f"{m}x{n}x{k}", tensors=(a, b)) for op in GEMMS)


def _list_attention(dtype: torch.dtype) -> Iterator[Timed]:
    for heads, groups, width in ((16, 2, 128), (8, 1, 64)):
        q, k, v = (torch.randn(TOKENS, count, width).to(dtype) for count in (heads, groups, groups))
        starts = torch.tensor([0, TOKENS], dtype=torch.int32)
        words = {"scale": width**-0.5, "max_seqlen_q": TOKENS}
        shape = f"{TOKENS}x{heads}/{groups}x{width}"
        yield Timed(op="attention_prefill", shape=shape, tensors=(q, k, v, starts, starts), words=words)
    tables = torch.randperm(256).view(4, 64).int()
    lens = torch.tensor([1024, 700, 1000, 64], dtype=torch.int32)
    caches = [torch.randn(256, 16, 4, 128).to(dtype) for _ in range(2)]
    q = torch.randn(4, 1, 32, 128).to(dtype)
    yield Timed(
        op="paged_decode", shape="4 of 64 to 1024, 32/4x128", tensors=(q, *caches, tables, lens), words={"scale": 0.09}
    )
    cache, q = torch.randn(256, 16, 576).to(dtype), torch.randn(4, 1, 128, 576).to(dtype)
    yield Timed(
        op="mla_decode", shape="4 of 64 to 1024, 128 heads", tensors=(q, cache, tables, lens), words={"scale": 0.07}
    )


def _list_experts(dtype: torch.dtype) -> Iterator[Timed]:
    for experts, top in ((128, 8), (32, 4)):
        logits = torch.randn(TOKENS, experts).to(dtype)
        yield Timed(op="topk_softmax", shape=f"{TOKENS}x{experts}, {top}", tensors=(logits,), words={"top": top})
    words = {"top": 8, "groups": 8, "keep": 4, "scaling": 2.5}
    tensors = torch.randn(TOKENS, 256).to(dtype), torch.randn(256)
    yield Timed(op="topk_sigmoid", shape=f"{TOKENS}x256, 8 of 4 groups", tensors=tensors, words=words)
    for tokens in (TOKENS, 4):
        ids = torch.rand(tokens, 16).topk(4).indices.int()
        x, weights = torch.randn(tokens, 768).to(dtype), torch.rand(tokens, 4)
        matrices = torch.randn(16, 768, 768).to(dtype), torch.randn(16, 768, 384).to(dtype)
        yield Timed(op="fused_moe", shape=f"{tokens}x768, 4 of 16", tensors=(x, *matrices, weights, ids))
