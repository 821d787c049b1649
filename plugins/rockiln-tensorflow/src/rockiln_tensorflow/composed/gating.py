"""topk_softmax, topk_sigmoid and moe_align → compositions; equal choices go to the lower expert."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from rockiln_tensorflow.composed import Composition, Tensor
from rockiln_tensorflow.composed.narrow import read_bits, widen
from rockiln_tensorflow.composed.sizes import count_elements, read_sizes, split_last

LAST = -(2**31)
"""What NaN counts as, in the order of signs and magnitudes: below -inf; what is closed comes after the open ones."""


def _is_finite(values: Tensor) -> Tensor:
    """Whether all are; a sum that overflows says no, too."""
    return tf.math.is_finite(tf.reduce_sum(values))


def choose(values: Tensor, count: int, is_open: Tensor | None = None) -> Tensor:
    """i32 places [..., count] of the largest values, in order; of equals the first, NaN last, then what is closed."""
    wide = tf.cast(values, tf.float32)
    bits = read_bits(tf.where(wide == 0.0, 0.0, wide))  # -0 counts as 0
    ordered = tf.bitwise.bitwise_xor(bits, tf.bitwise.bitwise_and(tf.bitwise.right_shift(bits, 31), 0x7FFFFFFF))
    ordered = tf.where(tf.math.is_nan(wide), LAST + 1, ordered)
    ordered = ordered if is_open is None else tf.where(is_open, ordered, LAST)
    return tf.cast(tf.math.top_k(ordered, count)[1], tf.int32)  # whose own order of equals is the first one's


def weigh(scores: Tensor, ids: Tensor, *, renormalise: bool, scaling: float) -> tuple[Tensor, Tensor]:
    """Weights, of the chosen scores, and ids."""
    chosen = tf.gather(scores, ids, axis=-1, batch_dims=ids.shape.rank - 1)
    if renormalise:
        chosen = chosen / tf.reduce_sum(chosen, axis=-1, keepdims=True)
    return tf.cast(chosen * scaling, tf.float32), ids


def topk_softmax(logits: Tensor, *, top: int, renormalise: bool, scaling: float) -> tuple[Tensor, ...]:
    """weights f32 and ids i32, both [..., top], of logits [..., E].

    Of finite logits the softmax over all experts, divided by the sum of those chosen, is the softmax over those.
    """
    wide = widen(logits)

    def weigh_all() -> tuple[Tensor, Tensor]:
        return weigh(tf.nn.softmax(wide, axis=-1), choose(wide, top), renormalise=renormalise, scaling=scaling)

    def weigh_chosen() -> tuple[Tensor, Tensor]:
        chosen, ids = tf.math.top_k(wide, top)
        return tf.cast(tf.nn.softmax(chosen, axis=-1) * scaling, tf.float32), ids

    return tuple(tf.cond(_is_finite(wide), weigh_chosen, weigh_all)) if renormalise else weigh_all()


def _keep_groups(choice: Tensor, groups: int, keep: int) -> Tensor:
    """bool [..., E]: experts of the `keep` groups whose two best choices have the largest sum."""
    size = read_sizes(choice)[-1] // groups
    grid = split_last(choice, size)
    known = tf.where(tf.math.is_nan(grid), tf.constant(-np.inf, grid.dtype), grid)
    pair = min(2, size) if isinstance(size, int) else tf.minimum(2, size)
    best = tf.reduce_sum(tf.math.top_k(known, pair)[0], axis=-1)
    kept = tf.reduce_any(choose(best, keep)[..., None] == tf.range(groups), axis=-2)
    return tf.repeat(kept, size, axis=-1)


def topk_sigmoid(
    logits: Tensor, bias: Tensor | None = None, *, top: int, renormalise: bool, scaling: float, groups: int, keep: int
) -> tuple[Tensor, ...]:
    """weights f32 and ids i32, both [..., top], of logits [..., E] and bias [E]."""
    scores = tf.sigmoid(widen(logits))
    choice = scores if bias is None else scores + tf.cast(widen(bias), scores.dtype)
    is_open = _keep_groups(choice, groups, keep) if groups > 1 else None
    return weigh(scores, choose(choice, top, is_open), renormalise=renormalise, scaling=scaling)


def moe_align(ids: Tensor, *, experts: int, block_size: int) -> tuple[Tensor, ...]:
    """sorted_slots [capacity * block_size], block_experts [capacity] and total [1], in the dtype of ids [..., top]."""
    flat, slots = tf.reshape(ids, [-1]), count_elements(read_sizes(ids))
    busy = min(experts, slots) if isinstance(slots, int) else tf.minimum(experts, slots)
    capacity = (slots + busy * (block_size - 1) + block_size - 1) // block_size
    owner = tf.where((flat >= 0) & (flat < experts), flat, experts)
    order = tf.argsort(owner, stable=True)
    counts = tf.math.unsorted_segment_sum(tf.ones_like(owner), owner, experts + 1)
    blocks = (counts[:experts] + block_size - 1) // block_size
    first, last = tf.cumsum(counts) - counts, tf.cumsum(blocks)
    own = tf.gather(owner, order)
    end = tf.reshape(capacity * block_size, [1])
    base = tf.concat(((last - blocks) * block_size, end), axis=0)
    places = tf.gather(base, own) + tf.range(slots) - tf.gather(first, own)
    places = tf.minimum(places, capacity * block_size)  # of no expert: one behind the end, which is cut off
    filled = tf.fill(tf.reshape(capacity * block_size + 1, [1]), slots)
    sorted_slots = tf.tensor_scatter_nd_update(filled, places[:, None], order)[:-1]
    block_experts = tf.searchsorted(last, tf.range(capacity), side="right")
    block_experts = tf.where(block_experts >= experts, -1, block_experts)
    return tuple(tf.cast(item, ids.dtype) for item in (sorted_slots, block_experts, last[-1:] * block_size))


COMPOSITIONS: dict[str, Composition] = {
    "topk_softmax": topk_softmax,
    "topk_sigmoid": topk_sigmoid,
    "moe_align": moe_align,
}
