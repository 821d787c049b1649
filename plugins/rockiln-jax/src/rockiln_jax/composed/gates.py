"""The *_and_mul families → compositions: g and u of x's last dim, cut at limit, gate(g) * (u + up_offset)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from rockiln_jax.composed.narrow import join_last, quantise_fp8, quantise_mx, widen

Gate = Callable[[Array, float], Array]
_ROOT = math.sqrt(2.0 / math.pi)


def gate_silu(g: Array, alpha: float) -> Array:
    """g * sigmoid(alpha * g)."""
    return g * jax.nn.sigmoid(g * alpha)


def gate_gelu(g: Array, _alpha: float) -> Array:
    """g / 2 * erfc(-g / sqrt 2), which is exact where it is small, unlike 1 + erf."""
    return g * jax.scipy.special.erfc(g * -math.sqrt(0.5)) * 0.5


def gate_gelu_tanh(g: Array, _alpha: float) -> Array:
    """g / 2 * (1 + tanh z)."""
    value: Array = _compute_gelu_tanh(g)
    return value


@jax.custom_jvp
def _compute_gelu_tanh(g: Array) -> Array:
    """As jax.nn.gelu does: sigmoid would keep what is below 1e-7, but a CPU's tanh is faster than its exp."""
    return (g * 0.5) * (1.0 + jnp.tanh(g * (_ROOT + (_ROOT * 0.044715) * (g * g))))


@_compute_gelu_tanh.defjvp
def _differentiate_gelu_tanh(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (g,), (tangent,) = primals, tangents
    weight = jax.nn.sigmoid((2.0 * _ROOT) * (g + 0.044715 * g * g * g))
    rise = (2.0 * _ROOT) * (1.0 + (3.0 * 0.044715) * g * g)
    step = weight * (1.0 - weight)
    bend = jnp.where(step == 0.0, 0.0, g * step * rise)  # 0, and not 0 * inf, far from 0
    return _compute_gelu_tanh(g), (weight + bend) * tangent


def split_pair(x: Array, *, interleaved: bool) -> tuple[Array, Array]:
    """Gate and up of the last dim: halves, or in turn."""
    if interleaved:
        return x[..., 0::2], x[..., 1::2]
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:]


@partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def _cut(x: Array, least: float, most: float) -> Array:
    """At the limits themselves the slope is that of what is not cut, as in the gradient's kernels."""
    return jnp.clip(x, least, most)


@_cut.defjvp
def _differentiate_cut(least: float, most: float, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (tangent,) = primals, tangents
    return _cut(x, least, most), jnp.where((x > most) | (x < least), 0.0, tangent)


def _cut_pair(g: Array, u: Array, limit: float) -> tuple[Array, Array]:
    return _cut(g, -math.inf, limit), _cut(u, -limit, limit)


def apply_gate(
    x: Array, gate: Gate, *, limit: float = 0.0, interleaved: bool = False, alpha: float = 1.0, up_offset: float = 0.0,
    signs_zero: bool = False,
) -> Array:  # fmt: skip
    """gate(g) * (u + up_offset) of x [..., D2] in f32 (f64 of f64), [..., D2 / 2].

    `signs_zero`: u + 0 is 0 of -0, too, which XLA leaves out; codes hold the sign of a zero.
    """
    g, u = (widen(part) for part in split_pair(x, interleaved=interleaved))
    if limit > 0.0:
        g, u = _cut_pair(g, u, limit)
    u = jnp.where(u == 0.0, 0.0, u) if signs_zero and not up_offset else u + up_offset
    return gate(g, alpha) * u


def gate_and_mul(gate: Gate, x: Array, **scalars: Any) -> tuple[Array]:
    """y [..., D2 / 2] of x [..., D2]."""
    return (apply_gate(x, gate, **scalars).astype(x.dtype),)


def gate_and_mul_fp8(gate: Gate, x: Array, *, Q: str, **scalars: Any) -> tuple[Array, Array]:  # an axis
    """q [..., D2 / 2] in fp8 and q_scale [..., cdiv(D2 / 2, 128)]."""
    return quantise_fp8(apply_gate(x, gate, signs_zero=True, **scalars), Q, group=128)


def gate_and_mul_mxfp4(gate: Gate, x: Array, **scalars: Any) -> tuple[Array, Array]:
    """q [..., D2 / 4] u8 and q_scale [..., D2 / 64] u8."""
    return quantise_mx(apply_gate(x, gate, signs_zero=True, **scalars), "e2m1")


def gate_and_mul_backward(
    gate: Gate, dy: Array, x: Array, *, limit: float = 0.0, interleaved: bool = False, alpha: float = 1.0,
    up_offset: float = 0.0,
) -> tuple[Array]:  # fmt: skip
    """dx [..., D2] of dy [..., D2 / 2] and x; 0 where limit cuts."""
    g, u = (widen(part) for part in split_pair(x, interleaved=interleaved))
    cut_g, cut_u = _cut_pair(g, u, limit) if limit > 0.0 else (g, u)
    wide = widen(dy)
    value, slope = jax.jvp(partial(_call_gate, gate, alpha), (cut_g,), (jnp.ones_like(cut_g),))
    dg, du = wide * (cut_u + up_offset) * slope, wide * value
    if limit > 0.0:
        dg, du = jnp.where(g > limit, 0.0, dg), jnp.where(jnp.abs(u) > limit, 0.0, du)
    dx = join_last(jnp.stack((dg, du), axis=-1)) if interleaved else jnp.concatenate((dg, du), axis=-1)
    return (dx.astype(x.dtype),)


def _call_gate(gate: Gate, alpha: float, g: Array) -> Array:
    return gate(g, alpha)


def _make_family(name: str, gate: Gate) -> dict[str, Callable[..., tuple[Array, ...]]]:
    return {
        name: partial(gate_and_mul, gate),
        f"{name}_fp8": partial(gate_and_mul_fp8, gate),
        f"{name}_mxfp4": partial(gate_and_mul_mxfp4, gate),
        f"{name}_backward": partial(gate_and_mul_backward, gate),
    }


COMPOSITIONS: dict[str, Callable[..., tuple[Array, ...]]] = {
    **_make_family("silu_and_mul", gate_silu),
    **_make_family("gelu_and_mul", gate_gelu),
    **_make_family("gelu_tanh_and_mul", gate_gelu_tanh),
    **_make_family("swiglu_and_mul", gate_silu),
}
