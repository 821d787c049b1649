"""Attention of a batch of equal lengths → the op's packed call, on platforms whose pack runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from rockiln_jax import ops
from rockiln_jax.lowering import list_packs

KERNEL_DTYPES = ("float16", "bfloat16")
OP = "attention_prefill"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedCall:
    """Scalars of the op, and platforms whose pack runs the call."""

    scale: float
    is_causal: bool
    window_left: int
    platforms: tuple[str, ...]


def find_call(
    query: Array, key: Array, value: Array, scale: Any, *, is_causal: bool, window: int | tuple[int, int] | None
) -> PackedCall | None:
    """The packed call, or None where the op does not say the same or no pack runs it. Arrays as jax.nn has them."""
    if not _has_shapes(query, key, value) or not isinstance(scale, int | float | None):
        return None
    left, right = (-1, 0) if window is None else (window, window) if isinstance(window, int) else window
    if is_causal and query.shape[-3] != key.shape[-3]:
        return None  # jax.nn lets the first query stand at the first key, the op the last at the last
    if window is not None and not (is_causal and left >= 0 and right >= 0):
        return None  # jax.nn 0.6 ignores a window alone, where XLA computes
    factor = query.shape[-1] ** -0.5 if scale is None else float(scale)
    shapes = jax.eval_shape(pack_arrays, query, key, value)
    platforms = list_packs(*ops.bind_words(OP, shapes, write_words(factor, is_causal, left, query.shape[-3])))
    if not platforms:
        return None
    return PackedCall(scale=factor, is_causal=is_causal, window_left=left, platforms=platforms)


def _has_shapes(query: Array, key: Array, value: Array) -> bool:
    """Shapes and dtypes that jax.nn and the op both take; what they do not, jax.nn shall refuse."""
    if query.ndim not in {3, 4} or key.ndim != query.ndim or key.shape != value.shape:
        return False
    same = query.dtype == key.dtype == value.dtype and query.dtype.name in KERNEL_DTYPES
    fits = query.shape[:-3] == key.shape[:-3] and query.shape[-1] == key.shape[-1]
    return same and fits and 0 not in (*query.shape, *key.shape) and query.shape[-2] % key.shape[-2] == 0


def pack_arrays(query: Array, key: Array, value: Array) -> tuple[Array, ...]:
    """The op's arrays: sequences one after another, and where each starts."""
    batch = query.shape[0] if query.ndim == 4 else 1
    starts = (jnp.arange(batch + 1, dtype=jnp.int32) * array.shape[-3] for array in (query, key))
    return (*(array.reshape(-1, *array.shape[-2:]) for array in (query, key, value)), *starts)


def write_words(scale: float, is_causal: bool, window_left: int, queries: int) -> dict[str, Any]:
    """The op's scalars."""
    return {"scale": scale, "causal": is_causal, "window_left": window_left, "max_seqlen_q": queries}


def attend_packed(
    query: Array, key: Array, value: Array, call: PackedCall, attend_plain: Callable[..., Array]
) -> Array:
    """The call's op on its platforms, `attend_plain` on all others: XLA compiles one of them."""

    def attend(*arrays: Array) -> Array:
        words = write_words(call.scale, call.is_causal, call.window_left, arrays[0].shape[-3])
        copies = arrays[0].shape[0] if arrays[0].ndim == 4 else 1
        out: Array = ops.call_op(OP, *pack_arrays(*arrays), copies=copies, **words)[0]
        return out.reshape(arrays[0].shape)

    ways = dict.fromkeys(call.platforms, attend)
    attended: Array = jax.lax.platform_dependent(query, key, value, default=attend_plain, **ways)
    return attended
