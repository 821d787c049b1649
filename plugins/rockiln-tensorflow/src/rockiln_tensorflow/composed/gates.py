"""The *_and_mul families → compositions: g and u of x's last dim, cut at limit, gate(g) * (u + up_offset)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import tensorflow as tf

from rockiln_tensorflow.composed import Composition, Tensor, cpu
from rockiln_tensorflow.composed.narrow import quantise_fp8, quantise_mx, widen
from rockiln_tensorflow.composed.norms import add_offset
from rockiln_tensorflow.composed.sizes import join_last

Gate = Callable[[Tensor, float], Tensor]
_ROOT = math.sqrt(2.0 / math.pi)


def gate_silu(g: Tensor, alpha: float) -> Tensor:
    """g * sigmoid(alpha * g)."""
    return g * tf.sigmoid(g if alpha == 1.0 else g * alpha)


def gate_gelu(g: Tensor, _alpha: float) -> Tensor:
    """g / 2 * erfc(-g / sqrt 2), which is exact where it is small, unlike 1 + erf."""
    return g * tf.math.erfc(g * -math.sqrt(0.5)) * 0.5


def gate_gelu_tanh(g: Tensor, _alpha: float) -> Tensor:
    """g * sigmoid(2 z), which is g / 2 * (1 + tanh z), without cancellation."""
    return g * tf.sigmoid(g * (2.0 * _ROOT + (2.0 * _ROOT * 0.044715) * (g * g)))


NAMES: dict[Gate, str] = {gate_silu: "silu", gate_gelu: "gelu", gate_gelu_tanh: "gelu_tanh"}


def slope_silu(g: Tensor, alpha: float) -> Tensor:
    """d gate_silu / d g."""
    part = tf.sigmoid(g * alpha)
    return part + g * alpha * part * tf.sigmoid(-g * alpha)


def slope_gelu(g: Tensor, _alpha: float) -> Tensor:
    """d gate_gelu / d g."""
    return 0.5 * tf.math.erfc(g * -math.sqrt(0.5)) + g * tf.exp(-0.5 * g * g) * (1.0 / math.sqrt(2.0 * math.pi))


def slope_gelu_tanh(g: Tensor, _alpha: float) -> Tensor:
    """d gate_gelu_tanh / d g."""
    z = (2.0 * _ROOT) * (g + 0.044715 * g * g * g)
    part, rest = tf.sigmoid(z), tf.sigmoid(-z)
    rise = (2.0 * _ROOT) * (1.0 + 3.0 * 0.044715 * g * g)
    return part + tf.math.multiply_no_nan(g * rise, part * rest)  # 0, not 0 * inf, far away


def split_pair(x: Tensor, *, interleaved: bool) -> tuple[Tensor, Tensor]:
    """Gate and up of the last dim, widened: halves, or in turn. TensorFlow copies them, so as narrow as they are."""
    gate, up = (x[..., 0::2], x[..., 1::2]) if interleaved else tf.split(x, 2, axis=-1)
    return widen(gate), widen(up)


def cut_pair(g: Tensor, u: Tensor, limit: float) -> tuple[Tensor, Tensor]:
    """g at most limit, u within it; NaN stays."""
    if limit <= 0.0:
        return g, u
    low, high = (tf.constant(number, g.dtype) for number in (-limit, limit))
    return tf.where(g > high, high, g), tf.where(u > high, high, tf.where(u < low, low, u))


def apply_gate(
    x: Tensor, gate: Gate, *, limit: float = 0.0, interleaved: bool = False, alpha: float = 1.0, up_offset: float = 0.0,
    signs_zero: bool = False,
) -> Tensor:  # fmt: skip
    """gate(g) * (u + up_offset) of x [..., D2] in f32 (f64 of f64), [..., D2 / 2].

    `signs_zero`: u + 0 is 0 of -0, too, which TensorFlow's optimiser leaves out; codes hold the sign of a zero.
    """
    g, u = cut_pair(*split_pair(x, interleaved=interleaved), limit)
    u = tf.where(u == 0.0, tf.zeros_like(u), u) if signs_zero and not up_offset else add_offset(u, up_offset)
    return gate(g, alpha) * u


def gate_and_mul(gate: Gate, x: Tensor, **scalars: Any) -> tuple[Tensor, ...]:
    """y [..., D2 / 2] of x [..., D2]."""
    if cpu.serves(x):
        return (cpu.run_gate(x, NAMES[gate], **scalars),)
    return (tf.cast(apply_gate(x, gate, **scalars), x.dtype),)


def gate_and_mul_fp8(gate: Gate, x: Tensor, *, Q: str, **scalars: Any) -> tuple[Tensor, ...]:  # an axis
    """q [..., D2 / 2] in fp8 and q_scale [..., cdiv(D2 / 2, 128)]."""
    return quantise_fp8(apply_gate(x, gate, signs_zero=True, **scalars), Q, group=128)


def gate_and_mul_mxfp4(gate: Gate, x: Tensor, **scalars: Any) -> tuple[Tensor, ...]:
    """q [..., D2 / 4] u8 and q_scale [..., D2 / 64] u8."""
    return quantise_mx(apply_gate(x, gate, signs_zero=True, **scalars), "e2m1")


def gate_and_mul_backward(
    gate: Gate, slope: Gate, dy: Tensor, x: Tensor, *, limit: float = 0.0, interleaved: bool = False,
    alpha: float = 1.0, up_offset: float = 0.0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """dx [..., D2] of dy [..., D2 / 2] and x; 0 where limit cuts."""
    g, u = split_pair(x, interleaved=interleaved)
    cut_g, cut_u = cut_pair(g, u, limit)
    wide = widen(dy)
    dg, du = wide * add_offset(cut_u, up_offset) * slope(cut_g, alpha), wide * gate(cut_g, alpha)
    if limit > 0.0:
        dg, du = tf.where(g > limit, tf.zeros_like(dg), dg), tf.where(tf.abs(u) > limit, tf.zeros_like(du), du)
    dx = join_last(tf.stack((dg, du), axis=-1)) if interleaved else tf.concat((dg, du), axis=-1)
    return (tf.cast(dx, x.dtype),)


def _make_family(name: str, gate: Gate, slope: Gate) -> dict[str, Composition]:
    return {
        name: partial(gate_and_mul, gate),
        f"{name}_fp8": partial(gate_and_mul_fp8, gate),
        f"{name}_mxfp4": partial(gate_and_mul_mxfp4, gate),
        f"{name}_backward": partial(gate_and_mul_backward, gate, slope),
    }


COMPOSITIONS: dict[str, Composition] = {
    **_make_family("silu_and_mul", gate_silu, slope_silu),
    **_make_family("gelu_and_mul", gate_gelu, slope_gelu),
    **_make_family("gelu_tanh_and_mul", gate_gelu_tanh, slope_gelu_tanh),
    **_make_family("swiglu_and_mul", gate_silu, slope_silu),
}
