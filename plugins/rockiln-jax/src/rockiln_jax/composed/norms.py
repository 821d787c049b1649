"""rms_norm's family → compositions."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

from rockiln_jax.composed.narrow import quantise_fp8, quantise_mx, widen


def normalise(x: Array, weight: Array, eps: float, weight_offset: float) -> Array:
    """x / sqrt(mean(x^2) + eps) * (weight + weight_offset) over the last dim, in f32 (f64 of f64)."""
    wide = widen(x)
    inverse = jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + eps)
    return wide * inverse * (widen(weight) + weight_offset)


def rms_norm(x: Array, weight: Array, *, eps: float, weight_offset: float) -> tuple[Array]:
    """y like x [..., N]; weight [N]."""
    return (normalise(x, weight, eps, weight_offset).astype(x.dtype),)


def rms_norm_fp8(x: Array, weight: Array, *, eps: float, weight_offset: float, Q: str) -> tuple[Array, Array]:
    """q like x in fp8, q_scale [rows]."""
    return quantise_fp8(normalise(x, weight, eps, weight_offset), Q)


def rms_norm_mxfp4(x: Array, weight: Array, *, eps: float, weight_offset: float) -> tuple[Array, Array]:
    """q [..., N / 2] u8, q_scale [..., N / 32] u8."""
    return quantise_mx(normalise(x, weight, eps, weight_offset), "e2m1")


def _add_before(norm: Callable[..., tuple[Array, ...]]) -> Callable[..., tuple[Array, ...]]:
    """The same of x + residual, which comes last."""

    def add_norm(x: Array, residual: Array, weight: Array, **words: object) -> tuple[Array, ...]:
        added = x + residual
        return (*norm(added, weight, **words), added)

    return add_norm


def rms_norm_backward(dy: Array, x: Array, weight: Array, *, eps: float, weight_offset: float) -> tuple[Array, Array]:
    """dx like x, dweight [N]."""
    own, wide, slope = widen(weight) + weight_offset, widen(x), widen(dy)
    inverse = jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + eps)
    normal, weighted = wide * inverse, slope * own
    dx = inverse * (weighted - normal * jnp.mean(weighted * normal, axis=-1, keepdims=True))
    dweight = jnp.sum((slope * normal).reshape(-1, x.shape[-1]), axis=0)
    return dx.astype(x.dtype), dweight.astype(weight.dtype)


_PLAIN: dict[str, Callable[..., tuple[Array, ...]]] = {
    "rms_norm": rms_norm,
    "rms_norm_fp8": rms_norm_fp8,
    "rms_norm_mxfp4": rms_norm_mxfp4,
}
COMPOSITIONS: dict[str, Callable[..., tuple[Array, ...]]] = {
    **_PLAIN,
    **{f"add_{name}": _add_before(norm) for name, norm in _PLAIN.items()},
    "rms_norm_backward": rms_norm_backward,
}
