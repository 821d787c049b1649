"""rope and rope_backward → compositions."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array

from rockiln_jax.composed.narrow import join_last, widen


def rope(x: Array, cos: Array, sin: Array, positions: Array, *, interleaved: bool) -> tuple[Array]:
    """y like x [..., L, H, D]; cos and sin [P, R], positions [L] (all leading dims of x folded)."""
    pairs = cos.shape[-1]
    c, s = (table[positions].reshape(*x.shape[:-2], 1, pairs) for table in (cos, sin))
    first = slice(0, 2 * pairs, 2) if interleaved else slice(0, pairs)
    second = slice(1, 2 * pairs, 2) if interleaved else slice(pairs, 2 * pairs)
    a, b = widen(x[..., first]), widen(x[..., second])
    new = (a * c - b * s, b * c + a * s)
    turned = join_last(jnp.stack(new, axis=-1)) if interleaved else jnp.concatenate(new, axis=-1)
    return (jnp.concatenate((turned.astype(x.dtype), x[..., 2 * pairs :]), axis=-1),)


def rope_backward(dy: Array, cos: Array, sin: Array, positions: Array, *, interleaved: bool) -> tuple[Array]:
    """dx like dy: the rotation back."""
    return rope(dy, cos, -sin, positions, interleaved=interleaved)


COMPOSITIONS: dict[str, Callable[..., tuple[Array, ...]]] = {"rope": rope, "rope_backward": rope_backward}
