"""fused_moe and its narrow kinds → compositions: an expert after another over its own tokens, added up in f32."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import tensorflow as tf

from rockiln_tensorflow.composed import Composition, Tensor, cpu
from rockiln_tensorflow.composed.gates import apply_gate, gate_silu
from rockiln_tensorflow.composed.gemms import finish, multiply, widen_blocks
from rockiln_tensorflow.composed.narrow import dequantise_mx, name_fp8, read_fp8, widen
from rockiln_tensorflow.composed.sizes import is_within_xla, read_sizes

Widen = Callable[..., Tensor]
Expert = Callable[[Tensor], Tensor]
"""Rows → its part of them, without the share."""


def mix_experts(
    widen_weights: Widen, x: Tensor, matrices: tuple[tuple[Tensor, ...], tuple[Tensor, ...]], weights: Tensor,
    ids: Tensor, biases: tuple[Tensor | None, Tensor | None], **gate: Any,
) -> tuple[Tensor, ...]:  # fmt: skip
    """out like x [..., K]; an id that is no expert's adds nothing. `matrices`: parts of gate_up and down, by expert."""
    *_, width = read_sizes(x)
    rows, top = widen(tf.reshape(x, [-1, width])), read_sizes(ids)[-1]
    flat, share = tf.reshape(ids, [-1, top]), widen(tf.reshape(weights, [-1, top]))
    share = tf.cast(share, rows.dtype)
    parts = [_unstack(part) for matrix in matrices for part in matrix]
    gate_up_count = len(matrices[0])
    own_biases = [[None] * len(parts[0]) if bias is None else tf.unstack(bias) for bias in biases]

    def make_expert(own: tuple[Tensor, ...], gate_up_bias: Tensor | None, down_bias: Tensor | None) -> Expert:
        def run(tokens: Tensor) -> Tensor:
            value = finish(multiply(tokens, widen_weights(*own[:gate_up_count])), gate_up_bias, "")
            hidden = tf.cast(apply_gate(value, gate_silu, **gate), x.dtype)
            return tf.cast(finish(multiply(hidden, widen_weights(*own[gate_up_count:])), down_bias, ""), rows.dtype)

        return run

    experts = [make_expert(*one) for one in zip(zip(*parts, strict=True), *own_biases, strict=True)]
    total = (_add_dense if is_within_xla() else _add_own)(experts, rows, flat, share)
    return (tf.reshape(tf.cast(total, x.dtype), read_sizes(x)),)


def _add_own(experts: Sequence[Expert], rows: Tensor, ids: Tensor, share: Tensor) -> Tensor:
    """Sums of rows: each expert's part of its own tokens, times their shares."""
    count, top = len(experts), read_sizes(ids)[-1]
    tokens = tf.repeat(tf.range(tf.shape(ids)[0]), top)
    flat = tf.cast(tf.reshape(ids, [-1]), tf.int32)
    owner = tf.where((flat >= 0) & (flat < count), flat, count)
    places = tf.dynamic_partition(tokens, owner, count + 1)[:count]
    shares = tf.dynamic_partition(tf.reshape(share, [-1]), owner, count + 1)[:count]
    parts = [expert(tf.gather(rows, own)) for expert, own in zip(experts, places, strict=True)]
    added = tf.concat(parts, axis=0) * tf.concat(shares, axis=0)[:, None]
    return tf.math.unsorted_segment_sum(added, tf.concat(places, axis=0), tf.shape(rows)[0])


def _add_dense(experts: Sequence[Expert], rows: Tensor, ids: Tensor, share: Tensor) -> Tensor:
    """The same of each expert's parts of all tokens: under XLA shapes may not depend on values."""
    total = tf.zeros_like(rows)
    for place, expert in enumerate(experts):
        is_own = ids == place
        weight = tf.reduce_sum(tf.where(is_own, share, tf.zeros_like(share)), axis=-1, keepdims=True)
        added = expert(rows) * weight
        total += tf.where(tf.reduce_any(is_own, axis=-1, keepdims=True), added, tf.zeros_like(added))
    return total


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
    if weights.dtype == tf.float32 and cpu.serves_products(x, gate_up, down, *biases):
        return (cpu.run_moe((x, gate_up, down, weights, ids), biases, **gate),)
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
