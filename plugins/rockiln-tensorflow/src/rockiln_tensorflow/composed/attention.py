"""attention_prefill and its gradient → compositions: all queries against all keys, those of other sequences hidden."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from rockiln_tensorflow.composed import Composition, Tensor
from rockiln_tensorflow.composed.narrow import widen
from rockiln_tensorflow.composed.sizes import Size, read_sizes


def weigh_keys(scores: Tensor, seen: Tensor, sinks: Tensor | None) -> tuple[Tensor, Tensor]:
    """scores [H, L, S] → (softmax weights [H, L, S], log of the sum [H, L]); rows that see nothing: 0 and -inf."""
    low, zero, one = (tf.constant(number, scores.dtype) for number in (-np.inf, 0.0, 1.0))
    hidden = tf.where(seen, scores, low)
    highest = tf.reduce_max(hidden, axis=-1)
    logit = None if sinks is None else tf.cast(sinks, scores.dtype)[:, None]
    highest = highest if logit is None else tf.maximum(highest, logit)
    shift = tf.stop_gradient(tf.where(highest == low, zero, highest))
    parts = tf.where(seen, tf.exp(tf.where(seen, scores, zero) - shift[..., None]), zero)
    total = tf.reduce_sum(parts, axis=-1)
    total = total if logit is None else total + tf.exp(logit - shift)
    is_blind = total == zero
    known = tf.where(is_blind, one, total)
    weights = tf.where(is_blind[..., None], zero, parts / known[..., None])
    return weights, tf.where(is_blind, low, shift + tf.math.log(known))


def see_packed(
    starts_q: Tensor, starts_k: Tensor, queries: Size, keys: Size, *, causal: bool, window_left: int
) -> Tensor:
    """bool [queries, keys]: of the same sequence, not later than the query, and within the window."""
    rows, columns = tf.range(queries), tf.range(keys)
    own_q = tf.searchsorted(starts_q, rows, side="right") - 1
    own_k = tf.searchsorted(starts_k, columns, side="right") - 1
    last = read_sizes(starts_q)[0] - 2
    place = tf.clip_by_value(own_q, 0, last)
    at = rows - tf.gather(starts_q, place + 1) + tf.gather(starts_k, place + 1)  # the last query stands at the last key
    distance = columns[None, :] - at[:, None]
    is_within = (own_q >= 0) & (own_q <= last)
    seen = (own_q[:, None] == own_k[None, :]) & is_within[:, None]
    seen = seen & (distance <= 0) if causal else seen
    return seen & (distance >= -window_left) if window_left >= 0 else seen


def group_heads(x: Tensor, groups: Size) -> Tensor:
    """[HK, group, L, D] of x [L, HQ, D], in f32 (f64 of f64)."""
    length, heads, width = read_sizes(x)
    return tf.transpose(tf.reshape(widen(x), [length, groups, heads // groups, width]), [1, 2, 0, 3])


def attention_prefill(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, sinks: Tensor | None = None, *,
    scale: float, max_seqlen_q: int, max_seqlen_k: int, causal: bool, window_left: int,  # noqa: ARG001  # the kernel's
) -> tuple[Tensor, ...]:  # fmt: skip
    """out [TQ, HQ, DV] like q [TQ, HQ, D], lse [HQ, TQ]; k [TK, HK, D], v [TK, HK, DV]."""
    queries, heads, _ = read_sizes(q)
    keys, groups, width = read_sizes(v)
    seen = see_packed(cu_seqlens_q, cu_seqlens_k, queries, keys, causal=causal, window_left=window_left)
    scores = tf.einsum("hgld,shd->hgls", group_heads(q, groups), widen(k)) * scale
    weights, lse = weigh_keys(tf.reshape(scores, [heads, queries, keys]), seen, sinks)
    grouped = tf.reshape(weights, [groups, heads // groups, queries, keys])
    used = tf.reduce_any(seen, axis=0)[:, None, None]  # NaN of a key that nobody sees reaches nobody
    wide = widen(v)
    out = tf.einsum("hgls,shd->lhgd", grouped, tf.where(used, wide, tf.zeros_like(wide)))
    return tf.cast(tf.reshape(out, [queries, heads, width]), q.dtype), tf.cast(lse, tf.float32)


def attention_prefill_backward(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, dout: Tensor, cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor, *,
    scale: float, max_seqlen_q: int, max_seqlen_k: int, causal: bool, window_left: int,  # noqa: ARG001  # the kernel's
) -> tuple[Tensor, ...]:  # fmt: skip
    """dq, dk, dv, like q, k, v."""
    (queries, heads, _), (keys, groups, _) = read_sizes(q), read_sizes(v)
    seen = see_packed(cu_seqlens_q, cu_seqlens_k, queries, keys, causal=causal, window_left=window_left)
    own_q, own_out, own_dout = (group_heads(part, groups) for part in (q, out, dout))
    scores = tf.einsum("hgld,shd->hgls", own_q, widen(k)) * scale
    zero = tf.constant(0.0, scores.dtype)
    own_lse = tf.reshape(tf.cast(lse, scores.dtype), [groups, heads // groups, queries, 1])
    weights = tf.where(seen, tf.exp(tf.where(seen, scores - own_lse, zero)), zero)
    delta = tf.reduce_sum(own_out * own_dout, axis=-1, keepdims=True)
    slope = tf.where(seen, weights * (tf.einsum("hgld,shd->hgls", own_dout, widen(v)) - delta) * scale, zero)
    dq = tf.reshape(tf.einsum("hgls,shd->lhgd", slope, widen(k)), read_sizes(q))
    dk = tf.einsum("hgls,hgld->shd", slope, own_q)
    dv = tf.einsum("hgls,hgld->shd", weights, own_dout)
    return tf.cast(dq, q.dtype), tf.cast(dk, k.dtype), tf.cast(dv, v.dtype)


COMPOSITIONS: dict[str, Composition] = {
    "attention_prefill": attention_prefill,
    "attention_prefill_backward": attention_prefill_backward,
}
