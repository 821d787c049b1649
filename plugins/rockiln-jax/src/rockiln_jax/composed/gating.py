"""topk_softmax, topk_sigmoid and moe_align → compositions; equal choices go to the lower expert."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from rockiln_jax.composed.narrow import narrow, read_bits, split_last, widen


def choose(values: Array, count: int, is_open: Array | None = None) -> Array:
    """i32 places [..., count] of the largest values, in order; of equals the first, NaN last, then what is closed."""
    wide = values.astype(jnp.float32)
    bits = jnp.where(jnp.isnan(wide), LAST, read_bits(jnp.where(wide == 0.0, 0.0, wide)))  # -0 counts as 0
    bits = bits if is_open is None else jnp.where(is_open, bits, LAST + 1)
    ways = {"cpu": partial(_choose_floats, count), "default": partial(_choose_bits, count)}
    places: Array = jax.lax.platform_dependent(bits, **ways)
    return places


LAST = -2
"""Bits of the last NaN but one, in the order of signs and magnitudes: below -inf."""


def _choose_bits(count: int, bits: Array) -> Array:
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    return jax.lax.top_k(ordered, count)[1].astype(jnp.int32)  # XLA's own order of equals is the first one's


def _choose_floats(count: int, bits: Array) -> Array:
    """On a CPU, where XLA orders floats by their bits and is 15 times as fast with them."""
    return jax.lax.top_k(jax.lax.bitcast_convert_type(bits, jnp.float32), count)[1].astype(jnp.int32)


def weigh(scores: Array, ids: Array, *, renormalise: bool, scaling: float) -> tuple[Array, Array]:
    """Weights, of the chosen scores, and ids."""
    chosen = jnp.take_along_axis(scores, ids, axis=-1)
    if renormalise:
        chosen = chosen / jnp.sum(chosen, axis=-1, keepdims=True)
    return narrow(chosen * scaling, jnp.float32), ids


def topk_softmax(logits: Array, *, top: int, renormalise: bool, scaling: float) -> tuple[Array, Array]:
    """weights f32 and ids i32, both [..., top], of logits [..., E]."""
    wide = widen(logits)
    return weigh(jax.nn.softmax(wide, axis=-1), choose(wide, top), renormalise=renormalise, scaling=scaling)


def _keep_groups(choice: Array, groups: int, keep: int) -> Array:
    """bool [..., E]: experts of the `keep` groups whose two best choices have the largest sum."""
    size = choice.shape[-1] // groups
    grid = split_last(choice, size)
    best = jax.lax.top_k(jnp.where(jnp.isnan(grid), -jnp.inf, grid), min(2, size))[0].sum(-1)
    kept = jnp.any(choose(best, keep)[..., None] == jnp.arange(groups), axis=-2)
    return jnp.repeat(kept, size, axis=-1)


def topk_sigmoid(
    logits: Array, bias: Array | None = None, *, top: int, renormalise: bool, scaling: float, groups: int, keep: int
) -> tuple[Array, Array]:
    """weights f32 and ids i32, both [..., top], of logits [..., E] and bias [E]."""
    scores = jax.nn.sigmoid(widen(logits))
    choice = scores if bias is None else scores + widen(bias)
    is_open = _keep_groups(choice, groups, keep) if groups > 1 else None
    return weigh(scores, choose(choice, top, is_open), renormalise=renormalise, scaling=scaling)


def moe_align(ids: Array, *, experts: int, block_size: int) -> tuple[Array, Array, Array]:
    """sorted_slots [capacity * block_size], block_experts [capacity] and total [1], in the dtype of ids [..., top]."""
    flat, slots = ids.reshape(-1), ids.size
    capacity = -(-(slots + min(experts, slots) * (block_size - 1)) // block_size)
    owner = jnp.where((flat >= 0) & (flat < experts), flat, experts).astype(jnp.int32)
    order = jnp.argsort(owner, stable=True).astype(jnp.int32)
    counts = jnp.zeros(experts + 1, jnp.int32).at[owner].add(1)
    blocks = (counts[:experts] + block_size - 1) // block_size
    first, last = jnp.cumsum(counts) - counts, jnp.cumsum(blocks)
    own = owner[order]
    base = jnp.append((last - blocks) * block_size, capacity * block_size)
    places = base[own] + jnp.arange(slots, dtype=jnp.int32) - first[own]
    sorted_slots = jnp.full(capacity * block_size, slots, jnp.int32).at[places].set(order, mode="drop")
    block_experts = jnp.searchsorted(last, jnp.arange(capacity), side="right").astype(jnp.int32)
    block_experts = jnp.where(block_experts >= experts, -1, block_experts)
    total = last[-1:] * block_size
    return sorted_slots.astype(ids.dtype), block_experts.astype(ids.dtype), total.astype(ids.dtype)


COMPOSITIONS: dict[str, Callable[..., tuple[Array, ...]]] = {
    "topk_softmax": topk_softmax,
    "topk_sigmoid": topk_sigmoid,
    "moe_align": moe_align,
}
