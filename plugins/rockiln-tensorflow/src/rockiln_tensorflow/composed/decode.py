"""Queries and a cache of pages → paged_decode, mla_decode and their fp8 kinds: all pages of a table's row are read."""

from __future__ import annotations

import tensorflow as tf

from rockiln_kernels.specs.mla_decode import LATENT
from rockiln_tensorflow.composed import Composition, Tensor
from rockiln_tensorflow.composed.attention import weigh_keys
from rockiln_tensorflow.composed.narrow import widen
from rockiln_tensorflow.composed.sizes import Size, read_sizes


def gather_tokens(cache: Tensor, tables: Tensor, counts: Tensor, scale: Tensor | None) -> Tensor:
    """f32 [B, MB * BS, ...] of a cache [NB, BS, ...]; what lies behind a sequence's end is 0."""
    blocks, block_size, *rest = read_sizes(cache)
    batch, width = read_sizes(tables)
    wide = widen(cache)
    pages = tf.gather(wide, tf.clip_by_value(tables, 0, blocks - 1))
    tokens = tf.reshape(pages, [batch, width * block_size, *rest])
    tokens = tokens if scale is None else tf.cast(tokens, scale.dtype) * scale
    is_own = tf.range(width * block_size)[None, :] < counts[:, None]
    shape = [batch, width * block_size, *([1] * len(rest))]
    return tf.where(tf.reshape(is_own, shape), tokens, tf.zeros_like(tokens))


def see_newest(queries: Size, tokens: Size, counts: Tensor, window_left: int) -> Tensor:
    """bool [B, queries, tokens]: the queries are the newest of `counts` tokens, and see no later one."""
    at = counts[:, None] - queries + tf.range(queries)[None, :]
    distance = tf.range(tokens)[None, None, :] - at[:, :, None]
    seen = (distance <= 0) & (tf.range(tokens)[None, None, :] < counts[:, None, None])
    return seen & (distance >= -window_left) if window_left >= 0 else seen


def attend_cache(
    q: Tensor, k: Tensor, v: Tensor, counts: Tensor, scale: float, sinks: Tensor | None, window_left: int
) -> tuple[Tensor, ...]:
    """out [B, L, HQ, DV] and lse [B, L, HQ] of q [B, L, HQ, D], k [B, S, HK, D], v [B, S, HK, DV]."""
    batch, queries, heads, width = read_sizes(q)
    _, tokens, groups, out_width = read_sizes(v)
    k, v = (tf.cast(item, widen(q).dtype) for item in (k, v))
    grouped = tf.reshape(widen(q), [batch, queries, groups, heads // groups, width])
    scores = tf.reshape(tf.einsum("blhgd,bshd->hgbls", grouped, k), [heads, batch * queries, tokens]) * scale
    seen = tf.reshape(see_newest(queries, tokens, counts, window_left), [batch * queries, tokens])
    weights, lse = weigh_keys(scores, seen, sinks)
    own = tf.reshape(weights, [groups, heads // groups, batch, queries, tokens])
    out = tf.reshape(tf.einsum("hgbls,bshd->blhgd", own, v), [batch, queries, heads, out_width])
    kept = tf.transpose(tf.reshape(lse, [heads, batch, queries]), [1, 2, 0])
    return tf.cast(out, q.dtype), tf.cast(kept, tf.float32)


def paged_decode(
    q: Tensor, k_cache: Tensor, v_cache: Tensor, block_tables: Tensor, context_lens: Tensor,
    sinks: Tensor | None = None, *, scale: float, window_left: int, splits: int,
) -> tuple[Tensor, ...]:  # fmt: skip
    """out like q [B, L, HQ, D], lse [B, L, HQ]; caches [NB, BS, HK, D]."""
    return paged_decode_fp8(
        q, k_cache, v_cache, block_tables, context_lens, None, None, sinks,
        scale=scale, window_left=window_left, splits=splits,
    )  # fmt: skip


def paged_decode_fp8(
    q: Tensor, k_cache: Tensor, v_cache: Tensor, block_tables: Tensor, context_lens: Tensor, k_scale: Tensor | None,
    v_scale: Tensor | None, sinks: Tensor | None = None, *,
    scale: float, window_left: int, splits: int,  # noqa: ARG001  # splits is the kernel's
) -> tuple[Tensor, ...]:  # fmt: skip
    """As paged_decode, of caches in fp8 that hold k / k_scale and v / v_scale."""
    k = gather_tokens(k_cache, block_tables, context_lens, k_scale)
    v = gather_tokens(v_cache, block_tables, context_lens, v_scale)
    return attend_cache(q, k, v, context_lens, scale, sinks, window_left)


def mla_decode(
    q: Tensor, cache: Tensor, block_tables: Tensor, context_lens: Tensor, cache_scale: Tensor | None = None, *,
    scale: float, splits: int,  # noqa: ARG001  # the kernel's
) -> tuple[Tensor, ...]:  # fmt: skip
    """out [B, L, H, 512] and lse [B, L, H] of q [B, L, H, 576] and cache [NB, BS, 576]."""
    tokens = gather_tokens(cache, block_tables, context_lens, cache_scale)[:, :, None]
    return attend_cache(q, tokens, tokens[..., :LATENT], context_lens, scale, None, -1)


COMPOSITIONS: dict[str, Composition] = {
    "paged_decode": paged_decode,
    "paged_decode_fp8": paged_decode_fp8,
    "mla_decode": mla_decode,
    "mla_decode_fp8": mla_decode,
}
