"""attention_prefill and its gradient → compositions: all queries against all keys, those of other sequences hidden."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array

from rockiln_jax.composed.narrow import narrow, widen


def weigh_keys(scores: Array, seen: Array, sinks: Array | None) -> tuple[Array, Array]:
    """scores [H, L, S] → (softmax weights [H, L, S], log of the sum [H, L]); rows that see nothing: 0 and -inf."""
    hidden = jnp.where(seen, scores, -jnp.inf)
    logit = jnp.full(scores.shape[:1], -jnp.inf, scores.dtype) if sinks is None else sinks.astype(scores.dtype)
    highest = jnp.maximum(jnp.max(hidden, axis=-1, initial=-jnp.inf), logit[:, None])
    shift = jnp.where(highest == -jnp.inf, 0.0, highest)
    parts = jnp.exp(hidden - shift[..., None])
    total = jnp.sum(parts, axis=-1) + jnp.exp(logit[:, None] - shift)
    is_blind = total == 0.0
    weights = jnp.where(is_blind[..., None], 0.0, parts / jnp.where(is_blind, 1.0, total)[..., None])
    return weights, jnp.where(is_blind, -jnp.inf, shift + jnp.log(jnp.where(is_blind, 1.0, total)))


def count_starts(starts: Array, places: Array) -> Array:
    """How many of the rising starts are at or before each place; jnp.searchsorted has no slopes within shard_map."""
    return jnp.sum(starts[None, :] <= places[:, None], axis=-1, dtype=jnp.int32)


def see_packed(starts_q: Array, starts_k: Array, queries: int, keys: int, *, causal: bool, window_left: int) -> Array:
    """bool [queries, keys]: of the same sequence, not later than the query, and within the window."""
    rows, columns = jnp.arange(queries), jnp.arange(keys)
    own_q = count_starts(starts_q, rows) - 1
    own_k = count_starts(starts_k, columns) - 1
    last = starts_q.shape[0] - 2
    place = jnp.clip(own_q, 0, last)
    at = rows - starts_q[place + 1] + starts_k[place + 1]  # the last query stands at the last key
    distance = columns[None, :] - at[:, None]
    is_within = (own_q >= 0) & (own_q <= last)
    seen = (own_q[:, None] == own_k[None, :]) & is_within[:, None]
    seen = seen & (distance <= 0) if causal else seen
    return seen & (distance >= -window_left) if window_left >= 0 else seen


def group_heads(x: Array, groups: int) -> Array:
    """[HK, group, L, D] of x [L, HQ, D], in f32 (f64 of f64)."""
    return widen(x).reshape(x.shape[0], groups, -1, x.shape[2]).transpose(1, 2, 0, 3)


def multiply_heads(equation: str, *arrays: Array) -> Array:
    """einsum in full precision."""
    return jnp.einsum(equation, *arrays, precision="highest")


def attention_prefill(
    q: Array, k: Array, v: Array, cu_seqlens_q: Array, cu_seqlens_k: Array, sinks: Array | None = None, *,
    scale: float, max_seqlen_q: int, max_seqlen_k: int, causal: bool, window_left: int,  # noqa: ARG001  # the kernel's
) -> tuple[Array, Array]:  # fmt: skip
    """out [TQ, HQ, DV] like q [TQ, HQ, D], lse [HQ, TQ]; k [TK, HK, D], v [TK, HK, DV]."""
    queries, heads, _ = q.shape
    keys, groups, width = v.shape
    seen = see_packed(cu_seqlens_q, cu_seqlens_k, queries, keys, causal=causal, window_left=window_left)
    scores = multiply_heads("hgld,shd->hgls", group_heads(q, groups), widen(k)).reshape(heads, queries, keys) * scale
    weights, lse = weigh_keys(scores, seen, sinks)
    grouped = weights.reshape(groups, heads // groups, queries, keys)
    rows = count_starts(cu_seqlens_q, jnp.arange(queries))
    lse = jnp.where((rows >= 1) & (rows < cu_seqlens_q.shape[0]), lse, -jnp.inf)  # in no sequence, there is no sink
    used = jnp.any(seen, axis=0)[:, None, None]  # NaN of a key that nobody sees reaches nobody
    out = multiply_heads("hgls,shd->lhgd", grouped, jnp.where(used, widen(v), 0.0))
    return out.reshape(queries, heads, width).astype(q.dtype), narrow(lse, jnp.float32)


def attention_prefill_backward(
    q: Array, k: Array, v: Array, out: Array, lse: Array, dout: Array, cu_seqlens_q: Array, cu_seqlens_k: Array, *,
    scale: float, max_seqlen_q: int, max_seqlen_k: int, causal: bool, window_left: int,  # noqa: ARG001  # the kernel's
) -> tuple[Array, Array, Array]:  # fmt: skip
    """dq, dk, dv, like q, k, v."""
    (queries, heads, _), (keys, groups, _) = q.shape, v.shape
    seen = see_packed(cu_seqlens_q, cu_seqlens_k, queries, keys, causal=causal, window_left=window_left)
    own_q, own_out, own_dout = (group_heads(part, groups) for part in (q, out, dout))
    scores = multiply_heads("hgld,shd->hgls", own_q, widen(k)) * scale
    own_lse = lse.astype(scores.dtype).reshape(groups, heads // groups, queries, 1)
    weights = jnp.where(seen, jnp.exp(jnp.where(seen, scores - own_lse, 0.0)), 0.0)
    delta = jnp.sum(own_out * own_dout, axis=-1, keepdims=True)
    slope = jnp.where(seen, weights * (multiply_heads("hgld,shd->hgls", own_dout, widen(v)) - delta) * scale, 0.0)
    dq = multiply_heads("hgls,shd->lhgd", slope, widen(k)).reshape(q.shape)
    dk = multiply_heads("hgls,hgld->shd", slope, own_q)
    dv = multiply_heads("hgls,hgld->shd", weights, own_dout)
    return dq.astype(q.dtype), dk.astype(k.dtype), dv.astype(v.dtype)


COMPOSITIONS: dict[str, Callable[..., tuple[Array, ...]]] = {
    "attention_prefill": attention_prefill,
    "attention_prefill_backward": attention_prefill_backward,
}
