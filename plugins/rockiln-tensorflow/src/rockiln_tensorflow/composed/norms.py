"""rms_norm's family → compositions."""

from __future__ import annotations

import tensorflow as tf

from rockiln_tensorflow.composed import Composition, Tensor
from rockiln_tensorflow.composed.narrow import quantise_fp8, quantise_mx, widen
from rockiln_tensorflow.composed.sizes import read_sizes


def normalise(x: Tensor, weight: Tensor, eps: float, weight_offset: float) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * (weight + weight_offset) over the last dim, in f32 (f64 of f64)."""
    wide = widen(x)
    inverse = tf.math.rsqrt(tf.reduce_mean(wide * wide, axis=-1, keepdims=True) + eps)
    return wide * inverse * add_offset(widen(weight), weight_offset)


def add_offset(value: Tensor, offset: float) -> Tensor:
    """value + offset; of 0 no op, since TensorFlow would run it, beside others in another thread."""
    return value + offset if offset else value


def rms_norm(x: Tensor, weight: Tensor, *, eps: float, weight_offset: float) -> tuple[Tensor, ...]:
    """y like x [..., N]; weight [N]."""
    return (tf.cast(normalise(x, weight, eps, weight_offset), x.dtype),)


def rms_norm_fp8(x: Tensor, weight: Tensor, *, eps: float, weight_offset: float, Q: str) -> tuple[Tensor, ...]:
    """q like x in fp8, q_scale [rows]."""
    return quantise_fp8(normalise(x, weight, eps, weight_offset), Q)


def rms_norm_mxfp4(x: Tensor, weight: Tensor, *, eps: float, weight_offset: float) -> tuple[Tensor, ...]:
    """q [..., N / 2] u8, q_scale [..., N / 32] u8."""
    return quantise_mx(normalise(x, weight, eps, weight_offset), "e2m1")


def _add_before(norm: Composition) -> Composition:
    """The same of x + residual, which comes last."""

    def add_norm(x: Tensor, residual: Tensor, weight: Tensor, **words: object) -> tuple[Tensor, ...]:
        added = x + residual
        return (*norm(added, weight, **words), added)

    return add_norm


def rms_norm_backward(dy: Tensor, x: Tensor, weight: Tensor, *, eps: float, weight_offset: float) -> tuple[Tensor, ...]:
    """dx like x, dweight [N]."""
    own, wide, slope = add_offset(widen(weight), weight_offset), widen(x), widen(dy)
    inverse = tf.math.rsqrt(tf.reduce_mean(wide * wide, axis=-1, keepdims=True) + eps)
    normal, weighted = wide * inverse, slope * own
    dx = inverse * (weighted - normal * tf.reduce_mean(weighted * normal, axis=-1, keepdims=True))
    dweight = tf.reduce_sum(tf.reshape(slope * normal, [-1, read_sizes(x)[-1]]), axis=0)
    return tf.cast(dx, x.dtype), tf.cast(dweight, weight.dtype)


_PLAIN: dict[str, Composition] = {
    "rms_norm": rms_norm,
    "rms_norm_fp8": rms_norm_fp8,
    "rms_norm_mxfp4": rms_norm_mxfp4,
}
COMPOSITIONS: dict[str, Composition] = {
    **_PLAIN,
    **{f"add_{name}": _add_before(norm) for name, norm in _PLAIN.items()},
    "rms_norm_backward": rms_norm_backward,
}
