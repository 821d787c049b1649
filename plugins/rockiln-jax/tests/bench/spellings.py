"""Models' shapes → calls that are timed on a CPU, each with what a JAX user writes for it today."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from rockiln_jax import nn, ops

TOKENS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One call, both ways."""

    op: str
    shape: str
    arrays: tuple[Array, ...]
    spelled: Callable[..., Any]
    composed: Callable[..., Any]


def _draw(dtype: Any, *shape: int) -> Array:
    return jnp.asarray(np.random.default_rng(len(shape)).standard_normal(shape, np.float32), dtype)


def rms_norm(x: Array, weight: Array) -> Array:
    """As Flax has it: squares in f32."""
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6)).astype(x.dtype) * weight


def add_rms_norm(x: Array, residual: Array, weight: Array) -> tuple[Array, Array]:
    """The sum, then the norm."""
    return rms_norm(x + residual, weight), x + residual


def silu_and_mul(x: Array) -> Array:
    """Halves."""
    gate, up = jnp.split(x, 2, -1)
    return jax.nn.silu(gate) * up


def gelu_tanh_and_mul(x: Array) -> Array:
    """Halves."""
    gate, up = jnp.split(x, 2, -1)
    return jax.nn.gelu(gate) * up


def gelu_and_mul(x: Array) -> Array:
    """Halves, by erf."""
    gate, up = jnp.split(x, 2, -1)
    return jax.nn.gelu(gate, approximate=False) * up


def swiglu_and_mul(x: Array) -> Array:
    """As gpt-oss has it: cut at 7, 1.702, in turn, up + 1."""
    gate, up = jnp.minimum(x[..., 0::2], 7.0), jnp.clip(x[..., 1::2], -7.0, 7.0)
    return gate * jax.nn.sigmoid(gate * 1.702) * (up + 1)


def quant_fp8_token(x: Array) -> tuple[Array, Array]:
    """By XLA's cast, cut at the largest."""
    wide = x.astype(jnp.float32)
    scale = jnp.maximum(jnp.max(jnp.abs(wide), -1, keepdims=True) / 448.0, 1e-12)
    return jnp.clip(wide / scale, -448.0, 448.0).astype(jnp.float8_e4m3fn), scale[..., 0]


def topk_sigmoid(logits: Array, bias: Array) -> tuple[Array, Array]:
    """DeepSeek's without groups: chosen with the bias, weighed without."""
    scores = jax.nn.sigmoid(logits.astype(jnp.float32))
    ids = jax.lax.top_k(scores + bias, 8)[1]
    weights = jnp.take_along_axis(scores, ids, -1)
    return weights / weights.sum(-1, keepdims=True), ids


def gemm_silu(a: Array, b: Array) -> Array:
    """The product, then the activation."""
    return jax.nn.silu(a @ b.T)


def rope(x: Array, cos: Array, sin: Array, positions: Array) -> Array:
    """Halves turned."""
    own_cos, own_sin = (table[positions][:, None].astype(x.dtype) for table in (cos, sin))
    one, other = jnp.split(x, 2, -1)
    return jnp.concatenate((one * own_cos - other * own_sin, other * own_cos + one * own_sin), -1)


def gemm(a: Array, b: Array) -> Array:
    """b by rows."""
    return a @ b.T


def gemm_swiglu(a: Array, b: Array) -> Array:
    """The product, then the gate."""
    return silu_and_mul(a @ b.T)


def topk_softmax(logits: Array) -> tuple[Array, Array]:
    """Of f32."""
    weights, ids = jax.lax.top_k(jax.nn.softmax(logits.astype(jnp.float32), -1), 8)
    return weights / weights.sum(-1, keepdims=True), ids


def fused_moe(x: Array, gate_up: Array, down: Array, weights: Array, ids: Array) -> Array:
    """Every expert of every token by einsum, as there is no other spelling without shapes that depend on values."""
    hidden = silu_and_mul(jnp.einsum("mk,enk->men", x, gate_up))
    share = jnp.einsum("mte,mt->me", jax.nn.one_hot(ids, gate_up.shape[0], dtype=x.dtype), weights.astype(x.dtype))
    return jnp.einsum("men,ekn,me->mk", hidden, down, share)


def list_calls(dtype: Any) -> Iterator[Timed]:
    """Every call in `dtype`."""
    x, weight = _draw(dtype, TOKENS, 4096), _draw(dtype, 4096)
    small = f"{TOKENS}x4096"
    yield Timed(op="rms_norm", shape=small, arrays=(x, weight), spelled=rms_norm, composed=ops.rms_norm)
    arrays: tuple[Array, ...] = (x, x[::-1], weight)
    yield Timed(op="add_rms_norm", shape=small, arrays=arrays, spelled=add_rms_norm, composed=ops.add_rms_norm)
    for spelled in (silu_and_mul, gelu_tanh_and_mul, gelu_and_mul):
        name = spelled.__name__
        yield Timed(op=name, shape=small, arrays=(x,), spelled=spelled, composed=getattr(ops, name))
    yield Timed(
        op="swiglu_and_mul", shape=small, arrays=(x,), spelled=swiglu_and_mul,
        composed=lambda own: ops.swiglu_and_mul(own, limit=7.0, alpha=1.702, up_offset=1.0, interleaved=True),
    )  # fmt: skip
    yield Timed(
        op="quant_fp8_token", shape=small, arrays=(x,), spelled=quant_fp8_token,
        composed=lambda own: ops.quant_fp8_token(own, out_dtype=jnp.float8_e4m3fn),
    )  # fmt: skip
    places, table = jnp.arange(TOKENS, dtype=jnp.int32), _draw(jnp.float32, TOKENS, 64)
    heads = (_draw(dtype, TOKENS, 32, 128), table, table, places)
    yield Timed(op="rope", shape=f"{TOKENS}x32x128", arrays=heads, spelled=rope, composed=ops.rope)
    arrays = (_draw(dtype, TOKENS, 1024), _draw(dtype, 2048, 1024))
    for product in (gemm, gemm_silu, gemm_swiglu):
        name = product.__name__
        yield Timed(op=name, shape=f"{TOKENS}x2048x1024", arrays=arrays, spelled=product, composed=getattr(ops, name))
    yield Timed(
        op="topk_softmax", shape=f"{TOKENS}x128, 8", arrays=(_draw(dtype, TOKENS, 128),), spelled=topk_softmax,
        composed=lambda logits: ops.topk_softmax(logits, top=8),
    )  # fmt: skip
    bias = _draw(jnp.float32, 256)
    yield Timed(
        op="topk_sigmoid", shape=f"{TOKENS}x256, 8", arrays=(_draw(dtype, TOKENS, 256), bias), spelled=topk_sigmoid,
        composed=lambda logits, own: ops.topk_sigmoid(logits, own, top=8),
    )  # fmt: skip
    yield from _list_narrow(dtype)


def _list_narrow(dtype: Any) -> Iterator[Timed]:
    q, k = _draw(dtype, 1, TOKENS, 8, 64), _draw(dtype, 1, TOKENS, 2, 64)
    yield Timed(
        op="nn.dot_product_attention", shape=f"1x{TOKENS}x8/2x64", arrays=(q, k, k),
        spelled=lambda *own: jax.nn.dot_product_attention(*own, is_causal=True),
        composed=lambda *own: nn.dot_product_attention(*own, is_causal=True),
    )  # fmt: skip
    if dtype == jnp.float32:
        return
    ids = jnp.asarray(np.random.default_rng(0).permuted(np.tile(np.arange(8), (64, 1)), axis=1)[:, :2], jnp.int32)
    arrays = (_draw(dtype, 64, 256), _draw(dtype, 8, 512, 256), _draw(dtype, 8, 256, 256))
    yield Timed(
        op="fused_moe", shape="64x256, 2 of 8", arrays=(*arrays, jnp.full((64, 2), 0.5, jnp.float32), ids),
        spelled=fused_moe, composed=ops.fused_moe,
    )  # fmt: skip
