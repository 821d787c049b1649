"""Tensors whose dims may be unknown while a function is traced → sizes, numbers where they are known."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.ops import control_flow_util

Size = int | Any


def read_sizes(x: Any) -> list[Size]:
    """Each dim as a number, or as a scalar tensor where it is unknown. The rank is known."""
    known: list[int | None] = x.shape.as_list()
    if None not in known:
        return list(known)
    asked = tf.shape(x)
    return [asked[place] if size is None else size for place, size in enumerate(known)]


def count_elements(sizes: list[Size]) -> Size:
    """Their product."""
    count: Size = 1
    for size in sizes:
        count = count * size
    return count


def split_last(x: Any, size: int) -> Any:
    """[..., count, size] of x [..., count * size]."""
    *leading, last = read_sizes(x)
    return tf.reshape(x, [*leading, last // size, size])


def join_last(x: Any) -> Any:
    """[..., count * size] of x [..., count, size]."""
    *leading, count, size = read_sizes(x)
    return tf.reshape(x, [*leading, count * size])


def is_within_xla() -> bool:
    """Whether what is traced now is for XLA: jit_compile=True."""
    return not tf.executing_eagerly() and bool(
        control_flow_util.GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph())
    )
