"""fused_moe and its narrow kinds → compositions: an expert after another over its own tokens, added up in f32."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tensorflow as tf

from rockiln_tensorflow.composed import Composition, Tensor
from rockiln_tensorflow.composed.gates import apply_gate, gate_silu
from rockiln_tensorflow.composed.gemms import finish, multiply, widen_blocks
from rockiln_tensorflow.composed.narrow import dequantise_mx, name_fp8, read_fp8, widen
from rockiln_tensorflow.composed.sizes import is_within_xla, read_sizes

Widen = Callable[..., Tensor]


def mix_experts(
    widen_weights: Widen, x: Tensor, matrices: tuple[tuple[Tensor, ...], tuple[Tensor, ...]], weights: Tensor,
    ids: Tensor, biases: tuple[Tensor | None, Tensor | None], **gate: Any,
) -> tuple[Tensor, ...]:  # fmt: skip
    """out like x [..., K]; an id that is no expert's adds nothing. `matrices`: parts of gate_up and down, by expert."""
    *_, width = read_sizes(x)
    rows, top = tf.reshape(x, [-1, width]), read_sizes(ids)[-1]
    flat, share = tf.reshape(ids, [-1, top]), widen(tf.reshape(weights, [-1, top]))
    total = tf.zeros_like(widen(rows))
    share = tf.cast(share, total.dtype)
    parts = [_unstack(part) for matrix in matrices for part in matrix]
    gate_up_count = len(matrices[0])
    own_biases = [[None] * len(parts[0]) if bias is None else tf.unstack(bias) for bias in biases]
    for expert, (own, gate_up_bias, down_bias) in enumerate(zip(zip(*parts, strict=True), *own_biases, strict=True)):
        is_own = flat == expert
        places = _find_rows(is_own)
        value = finish(multiply(tf.gather(rows, places), widen_weights(*own[:gate_up_count])), gate_up_bias, "")
        hidden = tf.cast(apply_gate(value, gate_silu, **gate), x.dtype)
        part = finish(multiply(hidden, widen_weights(*own[gate_up_count:])), down_bias, "")
        weight = tf.reduce_sum(tf.where(is_own, share, tf.zeros_like(share)), axis=-1, keepdims=True)
        added = tf.cast(part, total.dtype) * tf.gather(weight, places)
        added = tf.where(tf.gather(tf.reduce_any(is_own, axis=-1, keepdims=True), places), added, tf.zeros_like(added))
        total = tf.tensor_scatter_nd_add(total, places[:, None], added)
    return (tf.reshape(tf.cast(total, x.dtype), read_sizes(x)),)


def _find_rows(is_own: Tensor) -> Tensor:
    """Places of an expert's tokens; under XLA, whose shapes may not depend on values, of all tokens."""
    if is_within_xla():
        return tf.range(read_sizes(is_own)[0])
    return tf.cast(tf.where(tf.reduce_any(is_own, axis=-1))[:, 0], tf.int32)


def _unstack(part: Tensor) -> list[Tensor]:
    """A tensor an expert; fp8 as f32, since TensorFlow does not take it apart."""
    if part.shape[0] is None:
        raise ValueError("fused_moe: the number of experts is not known while the function is traced")
    form = name_fp8(part)
    parts: list[Tensor] = tf.unstack(read_fp8(part, form) if form else part)
    return parts


def fused_moe(
    x: Tensor, gate_up: Tensor, down: Tensor, weights: Tensor, ids: Tensor, gate_up_bias: Tensor | None = None,
    down_bias: Tensor | None = None, **gate: Any,
) -> tuple[Tensor, ...]:  # fmt: skip
    """out like x [..., K]; gate_up [E, N2, K], down [E, K, N2 / 2], weights and ids [..., top]."""
    biases = gate_up_bias, down_bias
    return mix_experts(lambda weight: weight, x, ((gate_up,), (down,)), weights, ids, biases, **gate)


def fused_moe_narrow(
    widen_weights: Widen, x: Tensor, gate_up: Tensor, gate_up_scale: Tensor, down: Tensor, down_scale: Tensor,
    weights: Tensor, ids: Tensor, gate_up_bias: Tensor | None = None, down_bias: Tensor | None = None, **gate: Any,
) -> tuple[Tensor, ...]:  # fmt: skip
    """out like x; weights with scales, which `widen_weights` makes f32, an expert at a time."""
    matrices = (gate_up, gate_up_scale), (down, down_scale)
    return mix_experts(widen_weights, x, matrices, weights, ids, (gate_up_bias, down_bias), **gate)


COMPOSITIONS: dict[str, Composition] = {
    "fused_moe": fused_moe,
    "fused_moe_mxfp4": partial(fused_moe_narrow, partial(dequantise_mx, form="e2m1")),
    "fused_moe_fp8": partial(fused_moe_narrow, widen_blocks),
}
