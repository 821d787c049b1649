"""Queries and a cache of pages → paged_decode, mla_decode and their fp8 kinds."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from rockiln_torch.framework.attention import attend
from rockiln_torch.framework.tensors import read_numbers

LATENT = 512


def gather_tokens(cache: Tensor, table: Tensor, count: int) -> Tensor:
    """The first `count` tokens of one sequence, of a cache [NB, BS, ...]; no other page is read."""
    if not cache.shape[0]:
        if count:
            raise ValueError(f"rockiln: the cache has no block, but a sequence has {count} tokens")
        return cache.flatten(0, 1)
    blocks = -(-count // cache.shape[1])
    pages = cache.view(torch.uint8) if cache.element_size() == 1 else cache  # not all indexing knows fp8
    tokens = pages.index_select(0, table[:blocks]).flatten(0, 1)[:count]
    return tokens.view(cache.dtype)


def _widen_tokens(tokens: Tensor, scale: Tensor | None, q: Tensor) -> Tensor:
    return (
        tokens
        if scale is None
        else tokens.float() * scale.to(torch.float32)
        if q.dtype != torch.float64
        else tokens.double() * scale
    )


def paged_decode(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    block_tables: Tensor,
    context_lens: Tensor,
    sinks: Tensor | None = None,
    *,
    scale: float,
    window_left: int = -1,
    splits: int = 8,
) -> tuple[Tensor, Tensor]:
    """out like q [B, L, HQ, D], lse [B, L, HQ]; caches [NB, BS, HK, D]."""
    return paged_decode_fp8(
        q, k_cache, v_cache, block_tables, context_lens, None, None, sinks,
        scale=scale, window_left=window_left, splits=splits,
    )  # fmt: skip


def paged_decode_fp8(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    block_tables: Tensor,
    context_lens: Tensor,
    k_scale: Tensor | None,
    v_scale: Tensor | None,
    sinks: Tensor | None = None,
    *,
    scale: float,
    window_left: int = -1,
    splits: int = 8,  # noqa: ARG001  # of the kernel
) -> tuple[Tensor, Tensor]:
    """As paged_decode, of caches in fp8 that hold k / k_scale and v / v_scale."""
    parts = []
    for own, table, count in zip(q, block_tables, read_numbers(context_lens), strict=True):
        k = _widen_tokens(gather_tokens(k_cache, table, count), k_scale, q).transpose(0, 1)
        v = _widen_tokens(gather_tokens(v_cache, table, count), v_scale, q).transpose(0, 1)
        queries = own.transpose(0, 1).to(k.dtype)
        parts.append(attend(queries, k, v, scale, sinks, causal=True, window_left=window_left))
    return _stack_parts(parts, q, q.shape[3])


def mla_decode(
    q: Tensor, cache: Tensor, block_tables: Tensor, context_lens: Tensor, *, scale: float, splits: int = 8
) -> tuple[Tensor, Tensor]:
    """out [B, L, H, 512] and lse [B, L, H] of q [B, L, H, 576] and cache [NB, BS, 576]."""
    return mla_decode_fp8(q, cache, block_tables, context_lens, None, scale=scale, splits=splits)


def mla_decode_fp8(
    q: Tensor,
    cache: Tensor,
    block_tables: Tensor,
    context_lens: Tensor,
    cache_scale: Tensor | None,
    *,
    scale: float,
    splits: int = 8,  # noqa: ARG001  # of the kernel
) -> tuple[Tensor, Tensor]:
    """As mla_decode, of a cache in fp8 that holds c / cache_scale."""
    parts = []
    for own, table, count in zip(q, block_tables, read_numbers(context_lens), strict=True):
        tokens = _widen_tokens(gather_tokens(cache, table, count), cache_scale, q).unsqueeze(0)
        queries = own.transpose(0, 1).to(tokens.dtype)
        parts.append(attend(queries, tokens, tokens[..., :LATENT], scale, None, causal=True))
    return _stack_parts(parts, q, LATENT)


def _stack_parts(parts: list[tuple[Tensor, Tensor]], q: Tensor, width: int) -> tuple[Tensor, Tensor]:
    if not parts:
        return q.new_zeros(*q.shape[:3], width), q.new_zeros(q.shape[:3], dtype=torch.float32)
    out = torch.stack([out.transpose(0, 1) for out, _ in parts]).to(q.dtype)
    return out, torch.stack([lse.transpose(0, 1) for _, lse in parts])


COMPOSITIONS: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    "paged_decode": paged_decode,
    "paged_decode_fp8": paged_decode_fp8,
    "mla_decode": mla_decode,
    "mla_decode_fp8": mla_decode_fp8,
}
