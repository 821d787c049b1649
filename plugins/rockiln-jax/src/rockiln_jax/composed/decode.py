"""Queries and a cache of pages → paged_decode, mla_decode and their fp8 kinds: all pages of a table's row are read."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array

from rockiln_jax.composed.attention import multiply_heads, weigh_keys
from rockiln_jax.composed.narrow import narrow, widen
from rockiln_kernels.specs.mla_decode import LATENT


def gather_tokens(cache: Array, tables: Array, counts: Array, scale: Array | None) -> Array:
    """f32 [B, MB * BS, ...] of a cache [NB, BS, ...]; what lies behind a sequence's end is 0."""
    pages = jnp.take(cache, tables, axis=0, mode="clip")
    tokens = widen(pages.reshape(tables.shape[0], -1, *cache.shape[2:]))
    tokens = tokens if scale is None else tokens * scale
    is_own = jnp.arange(tokens.shape[1])[None, :] < counts[:, None]
    return jnp.where(is_own.reshape(*is_own.shape, *([1] * (tokens.ndim - 2))), tokens, 0.0)


def see_newest(queries: int, tokens: int, counts: Array, window_left: int) -> Array:
    """bool [B, queries, tokens]: the queries are the newest of `counts` tokens, and see no later one."""
    at = counts[:, None] - queries + jnp.arange(queries)[None, :]
    distance = jnp.arange(tokens)[None, None, :] - at[:, :, None]
    seen = (distance <= 0) & (jnp.arange(tokens)[None, None, :] < counts[:, None, None])
    return seen & (distance >= -window_left) if window_left >= 0 else seen


def attend_cache(
    q: Array, k: Array, v: Array, counts: Array, scale: float, sinks: Array | None, window_left: int
) -> tuple[Array, Array]:
    """out [B, L, HQ, DV] and lse [B, L, HQ] of q [B, L, HQ, D], k [B, S, HK, D], v [B, S, HK, DV]."""
    batch, queries, heads, _ = q.shape
    groups, tokens = k.shape[2], k.shape[1]
    grouped = widen(q).reshape(batch, queries, groups, heads // groups, q.shape[3])
    scores = multiply_heads("blhgd,bshd->hgbls", grouped, k).reshape(heads, batch * queries, tokens) * scale
    seen = see_newest(queries, tokens, counts, window_left).reshape(batch * queries, tokens)
    weights, lse = weigh_keys(scores, seen, sinks)
    own = weights.reshape(groups, heads // groups, batch, queries, tokens)
    out = multiply_heads("hgbls,bshd->blhgd", own, v).reshape(batch, queries, heads, v.shape[3])
    return out.astype(q.dtype), narrow(lse.reshape(heads, batch, queries).transpose(1, 2, 0), jnp.float32)


def paged_decode(
    q: Array, k_cache: Array, v_cache: Array, block_tables: Array, context_lens: Array, sinks: Array | None = None, *,
    scale: float, window_left: int, splits: int,
) -> tuple[Array, Array]:  # fmt: skip
    """out like q [B, L, HQ, D], lse [B, L, HQ]; caches [NB, BS, HK, D]."""
    return paged_decode_fp8(
        q, k_cache, v_cache, block_tables, context_lens, None, None, sinks,
        scale=scale, window_left=window_left, splits=splits,
    )  # fmt: skip


def paged_decode_fp8(
    q: Array, k_cache: Array, v_cache: Array, block_tables: Array, context_lens: Array, k_scale: Array | None,
    v_scale: Array | None, sinks: Array | None = None, *,
    scale: float, window_left: int, splits: int,  # noqa: ARG001  # splits is the kernel's
) -> tuple[Array, Array]:  # fmt: skip
    """As paged_decode, of caches in fp8 that hold k / k_scale and v / v_scale."""
    k = gather_tokens(k_cache, block_tables, context_lens, k_scale)
    v = gather_tokens(v_cache, block_tables, context_lens, v_scale)
    return attend_cache(q, k, v, context_lens, scale, sinks, window_left)


def mla_decode(
    q: Array, cache: Array, block_tables: Array, context_lens: Array, cache_scale: Array | None = None, *,
    scale: float, splits: int,  # noqa: ARG001  # the kernel's
) -> tuple[Array, Array]:  # fmt: skip
    """out [B, L, H, 512] and lse [B, L, H] of q [B, L, H, 576] and cache [NB, BS, 576]."""
    tokens = gather_tokens(cache, block_tables, context_lens, cache_scale)[:, :, None]
    return attend_cache(q, tokens, tokens[..., :LATENT], context_lens, scale, None, -1)


COMPOSITIONS: dict[str, Callable[..., tuple[Array, ...]]] = {
    "paged_decode": paged_decode,
    "paged_decode_fp8": paged_decode_fp8,
    "mla_decode": mla_decode,
    "mla_decode_fp8": mla_decode,
}
