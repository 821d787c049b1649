"""Models' shapes → calls that are timed on a CPU, each with what a TensorFlow user writes for it today."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from rockiln_tensorflow import ops

TOKENS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One call, both ways."""

    op: str
    shape: str
    tensors: tuple[tf.Tensor, ...]
    spelled: Callable[..., Any]
    composed: Callable[..., Any]


def draw(dtype: tf.DType, *shape: int) -> tf.Tensor:
    """Normal numbers, the same each time."""
    return tf.cast(np.random.default_rng(len(shape)).standard_normal(shape, np.float32), dtype)


def rms_norm(x: tf.Tensor, weight: tf.Tensor) -> tf.Tensor:
    """As Keras has it: squares in f32."""
    wide = tf.cast(x, tf.float32)
    inverse = tf.math.rsqrt(tf.reduce_mean(wide * wide, -1, keepdims=True) + 1e-6)
    return tf.cast(wide * inverse, x.dtype) * weight


def add_rms_norm(x: tf.Tensor, residual: tf.Tensor, weight: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The sum, then the norm."""
    added = x + residual
    return rms_norm(added, weight), added


def silu_and_mul(x: tf.Tensor) -> tf.Tensor:
    """Halves."""
    gate, up = tf.split(x, 2, -1)
    return tf.nn.silu(gate) * up


def gelu_tanh_and_mul(x: tf.Tensor) -> tf.Tensor:
    """Halves."""
    gate, up = tf.split(x, 2, -1)
    return tf.nn.gelu(gate, approximate=True) * up


def rope(x: tf.Tensor, cos: tf.Tensor, sin: tf.Tensor, positions: tf.Tensor) -> tf.Tensor:
    """Halves turned."""
    own_cos, own_sin = (tf.cast(tf.gather(table, positions)[:, None], x.dtype) for table in (cos, sin))
    one, other = tf.split(x, 2, -1)
    return tf.concat((one * own_cos - other * own_sin, other * own_cos + one * own_sin), -1)


def gemm(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """b by rows."""
    return tf.matmul(a, b, transpose_b=True)


def gemm_swiglu(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """The product, then the gate."""
    return silu_and_mul(gemm(a, b))


def topk_softmax(logits: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Of f32."""
    weights, ids = tf.math.top_k(tf.nn.softmax(tf.cast(logits, tf.float32), -1), 8)
    return weights / tf.reduce_sum(weights, -1, keepdims=True), ids


def fused_moe(x: tf.Tensor, gate_up: tf.Tensor, down: tf.Tensor, weights: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    """Every expert multiplies every token, as is usual without a kernel."""
    hidden = silu_and_mul(tf.einsum("tk,enk->ten", x, gate_up))
    parts = tf.einsum("ten,ekn->tek", hidden, down)
    share = tf.reduce_sum(tf.one_hot(ids, down.shape[0], dtype=x.dtype) * tf.cast(weights, x.dtype)[..., None], 1)
    return tf.einsum("tek,te->tk", parts, share)


def list_calls(dtype: tf.DType) -> Iterator[Timed]:
    """In the dtype; experts in bf16 alone."""
    x, weight = draw(dtype, TOKENS, 4096), draw(dtype, 4096)
    named = f"{TOKENS}x4096"
    yield Timed(op="rms_norm", shape=named, tensors=(x, weight), spelled=rms_norm, composed=ops.rms_norm)
    three = (x, x, weight)
    yield Timed(op="add_rms_norm", shape=named, tensors=three, spelled=add_rms_norm, composed=ops.add_rms_norm)
    yield Timed(op="silu_and_mul", shape=named, tensors=(x,), spelled=silu_and_mul, composed=ops.silu_and_mul)
    yield Timed(
        op="gelu_tanh_and_mul", shape=named, tensors=(x,), spelled=gelu_tanh_and_mul, composed=ops.gelu_tanh_and_mul
    )
    heads, tables = draw(dtype, TOKENS, 32, 128), draw(tf.float32, TOKENS, 64)
    turned = (heads, tables, tables, tf.range(TOKENS))
    yield Timed(op="rope", shape=f"{TOKENS}x32x128", tensors=turned, spelled=rope, composed=ops.rope)
    pair = (draw(dtype, TOKENS, 1024), draw(dtype, 2048, 1024))
    yield Timed(op="gemm", shape=f"{TOKENS}x2048x1024", tensors=pair, spelled=gemm, composed=ops.gemm)
    yield Timed(
        op="gemm_swiglu", shape=f"{TOKENS}x2048x1024", tensors=pair, spelled=gemm_swiglu, composed=ops.gemm_swiglu
    )
    logits = draw(dtype, TOKENS, 128)
    yield Timed(
        op="topk_softmax", shape=f"{TOKENS}x128, 8", tensors=(logits,), spelled=topk_softmax,
        composed=lambda own: ops.topk_softmax(own, top=8),
    )  # fmt: skip
    if dtype == tf.bfloat16:
        chosen = ops.topk_softmax(draw(tf.float32, 64, 8), top=2)
        experts = (draw(dtype, 64, 256), draw(dtype, 8, 512, 256), draw(dtype, 8, 256, 256), *chosen)
        yield Timed(op="fused_moe", shape="64x256, 2 of 8", tensors=experts, spelled=fused_moe, composed=ops.fused_moe)
