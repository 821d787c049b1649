"""Values → fp8, fp6 and fp4 codes with scales, and back; the same bytes as rockiln_kernels' references.

Codes are made by arithmetic on f32's bits: TensorFlow's own casts saturate differently, and on a CPU know no fnuz.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import tensorflow as tf

from rockiln_kernels.dtypes import DTYPES
from rockiln_tensorflow.composed import Tensor
from rockiln_tensorflow.composed.sizes import is_within_xla, join_last, read_sizes, split_last
from rockiln_tensorflow.dtypes import find_dtype
from rockiln_tensorflow.native import read_wrappers

SHAPES = {
    "e4m3": (4, 3, 7), "e5m2": (5, 2, 15), "e4m3fnuz": (4, 3, 8), "e5m2fnuz": (5, 2, 16), "e2m3": (2, 3, 1),
    "e3m2": (3, 2, 3), "e2m1": (2, 1, 1),
}  # fmt: skip
"""Bits of exponent and mantissa, bias: OCP's MX specification 1.0, and https://arxiv.org/abs/2206.02915 for fnuz."""
NAN_CODES = {"e4m3": 0x7F, "e5m2": 0x7F, "e4m3fnuz": 0x80, "e5m2fnuz": 0x80}
MX_BLOCK = 32


def widen(x: Tensor) -> Tensor:
    """f64 as it is, fp8 by its codes, all else in f32."""
    if x.dtype in {tf.float32, tf.float64}:
        return x
    form = name_fp8(x)
    return read_fp8(x, form) if form else tf.cast(x, tf.float32)


def name_fp8(x: Tensor) -> str:
    """rockiln's name of an fp8 dtype, or ""."""
    return next((form for form in NAN_CODES if find_dtype(form) == x.dtype), "")


def read_fp8(x: Tensor, form: str) -> Tensor:
    """f32 values of fp8."""
    if not form.endswith("fnuz") or is_within_xla():
        return tf.cast(x, tf.float32)
    return tf.gather(_list_values(form), tf.cast(read_wrappers().RockilnBitcast(x=x, to=tf.uint8), tf.int32))


def write_fp8(codes: Tensor, form: str) -> Tensor:
    """fp8 of its codes in u8."""
    if form.endswith("fnuz") and not is_within_xla():
        return read_wrappers().RockilnBitcast(x=codes, to=find_dtype(form))
    return tf.cast(tf.gather(_list_values(form), tf.cast(codes, tf.int32)), find_dtype(form))  # exact: each is a value


@lru_cache(maxsize=8)
def _list_values(form: str) -> np.ndarray[Any, Any]:
    """f32 [256]: what each code means."""
    codes = np.arange(256, dtype=np.uint8)
    values: np.ndarray[Any, Any] = codes.view(find_dtype(form).as_numpy_dtype).astype(np.float32)
    return values


def read_bits(values: Tensor) -> Tensor:
    """i32 bits of f32."""
    return tf.bitcast(tf.cast(values, tf.float32), tf.int32)


def find_largest(values: Tensor) -> Tensor:
    """max |.| along the last dim, which may be empty (0); NaN if there is one."""
    is_nan = tf.reduce_any(tf.math.is_nan(values), axis=-1)
    largest = tf.reduce_max(tf.where(tf.math.is_nan(values), tf.zeros_like(values), tf.abs(values)), axis=-1)
    largest = tf.where(largest > 0, largest, tf.zeros_like(largest))  # of nothing, the maximum is -inf
    return tf.where(is_nan, tf.constant(np.nan, largest.dtype), largest)


def encode(values: Tensor, form: str) -> Tensor:
    """Codes (u8) of f32 values: to nearest even, saturated; NaN where the format has one."""
    exponent_bits, mantissa_bits, bias = SHAPES[form]
    values = tf.cast(values, tf.float32)
    is_nan = tf.math.is_nan(values)
    magnitude = tf.minimum(tf.where(is_nan, 0.0, tf.abs(values)), DTYPES[form].maximum)
    own, shift = read_bits(magnitude), 23 - mantissa_bits
    odd = tf.bitwise.bitwise_and(tf.bitwise.right_shift(own, shift), 1)
    normal = tf.bitwise.right_shift(own + ((1 << (shift - 1)) - 1) + odd, shift) - ((127 - bias) << mantissa_bits)
    step = 2.0 ** (1 - bias - mantissa_bits)
    small = tf.cast(tf.round(magnitude * (1.0 / step)), tf.int32)  # to even; the last is the least normal's
    code = tf.where(magnitude < 2.0 ** (1 - bias), small, normal)
    sign = tf.where(read_bits(values) < 0, 1 << (exponent_bits + mantissa_bits), 0)
    signed = tf.bitwise.bitwise_or(code, sign)
    signed = tf.where(code == 0, 0, signed) if form.endswith("fnuz") else signed
    return tf.cast(tf.where(is_nan, NAN_CODES.get(form, 0), signed), tf.uint8)


def scale_fp8(largest: Tensor, form: str) -> Tensor:
    """f32 scales of groups with these largest magnitudes; at least 1e-12, NaN of NaN.

    Divided in f64 and rounded once: TensorFlow's optimiser makes a multiplication of a division by a constant.
    """
    own = tf.cast(tf.cast(largest, tf.float64) / DTYPES[form].maximum, tf.float32)
    return tf.where(own < 1e-12, tf.constant(1e-12, tf.float32), own)


def apply_scale(values: Tensor, scale: Tensor, form: str) -> Tensor:
    """fp8 codes (u8) of values * (1 / scale), both steps rounded to f32; 1 / scale as in scale_fp8."""
    inverse = tf.cast(1.0 / tf.cast(scale, tf.float64), tf.float32)
    return encode(tf.cast(values, tf.float32) * inverse, form)


def quantise_fp8(values: Tensor, form: str, group: int = 0) -> tuple[Tensor, Tensor]:
    """q, and q_scale [rows] for each row, or [..., groups] for `group` values of a row."""
    if not group:
        scale = scale_fp8(find_largest(values), form)
        return write_fp8(apply_scale(values, scale[..., None], form), form), tf.reshape(scale, [-1])
    groups = split_last(pad_last(values, group), group)
    scale = scale_fp8(find_largest(groups), form)
    codes = join_last(apply_scale(groups, scale[..., None], form))
    return write_fp8(codes[..., : read_sizes(values)[-1]], form), scale


def pad_last(values: Tensor, group: int) -> Tensor:
    """With zeros up to a multiple of `group`."""
    return tf.pad(values, [*[[0, 0]] * (values.shape.rank - 1), [0, -read_sizes(values)[-1] % group]])


def scale_mx(largest: Tensor, form: str) -> Tensor:
    """E8M0 codes (i32) of blocks: the exponent of the largest, rounded to the format's mantissa; 255 is NaN."""
    exponent_bits, mantissa_bits, bias = SHAPES[form]
    bits = tf.bitwise.bitwise_and(read_bits(largest), 0x7FFFFFFF)
    top = (1 << exponent_bits) - 1 - bias - (1 if form == "e5m2" else 0)
    rounded = tf.bitwise.right_shift(bits + (1 << (22 - mantissa_bits)), 23)
    return tf.where(bits >= 0x7F800000, 255, tf.clip_by_value(rounded - top, 0, 254))


def multiply_scale(values: Tensor, code: Tensor) -> Tensor:
    """values * 2^(code - 127) of E8M0 codes; NaN of 255. In two steps: TensorFlow takes f32's subnormals for 0."""
    wide = tf.cast(code, tf.int32)
    low = tf.bitwise.right_shift(wide, 1)
    first, second = (
        tf.bitcast(tf.bitwise.left_shift(part, 23), tf.float32) for part in (low + 64, wide - low + 63)
    )  # fmt: skip
    return tf.where(wide == 255, tf.constant(np.nan, tf.float32), values * first * second)


def quantise_mx(values: Tensor, form: str) -> tuple[Tensor, Tensor]:
    """q packed and q_scale [..., N / 32] u8 of values [..., N], N a multiple of 32."""
    blocks = split_last(tf.cast(values, tf.float32), MX_BLOCK)
    scale = scale_mx(find_largest(blocks), form)
    is_nan = (scale == 255)[..., None]
    factor = tf.clip_by_value(254 - scale, 0, 254)[..., None]
    codes = encode(join_last(multiply_scale(tf.where(is_nan, 0.0, blocks), factor)), form)
    packed = write_fp8(codes, form) if form in NAN_CODES else pack_codes(codes, form)
    return packed, tf.cast(scale, tf.uint8)


def pack_codes(codes: Tensor, form: str) -> Tensor:
    """u8 codes [..., N] → bytes: fp4 two a byte, fp6 four in three, the first element in the lowest bits."""
    wide = tf.cast(codes, tf.int32)
    if form == "e2m1":
        return tf.cast(wide[..., 0::2] + wide[..., 1::2] * 16, tf.uint8)
    a, b, c, d = (wide[..., place::4] for place in range(4))
    parts = (a + b % 4 * 64, b // 4 + c % 16 * 16, c // 16 + d * 4)
    return tf.cast(join_last(tf.stack(parts, axis=-1)), tf.uint8)


def unpack_codes(packed: Tensor, form: str) -> Tensor:
    """The inverse of pack_codes, i32."""
    wide = tf.cast(packed, tf.int32)
    if form == "e2m1":
        return join_last(tf.stack((wide % 16, wide // 16), axis=-1))
    a, b, c = (wide[..., place::3] for place in range(3))
    return join_last(tf.stack((a % 64, a // 64 + b % 16 * 4, b // 16 + c % 4 * 16, c // 4), axis=-1))


def decode(codes: Tensor, form: str) -> Tensor:
    """f32 values of fp6 or fp4 codes (i32), or of fp8 in its dtype, which tells its format, or as bytes."""
    if form in NAN_CODES:
        own = name_fp8(codes)
        return read_fp8(codes, own) if own else tf.gather(_list_values(form), tf.cast(codes, tf.int32))
    exponent_bits, mantissa_bits, bias = SHAPES[form]
    every = np.arange(1 << (1 + exponent_bits + mantissa_bits))
    exponent, fraction = (every >> mantissa_bits) & ((1 << exponent_bits) - 1), every & ((1 << mantissa_bits) - 1)
    step = np.exp2(np.maximum(exponent, 1) - bias - mantissa_bits)
    values = (np.where(exponent > 0, 1 << mantissa_bits, 0) + fraction) * step
    signed = np.where(every >> (exponent_bits + mantissa_bits), -values, values)
    return tf.gather(signed.astype(np.float32), codes)


def dequantise_mx(q: Tensor, scale: Tensor, form: str) -> Tensor:
    """f32 [..., G * 32] of packed codes and E8M0 scales [..., G]."""
    values = decode(q if form in NAN_CODES else unpack_codes(q, form), form)
    return join_last(multiply_scale(split_last(values, MX_BLOCK), scale[..., None]))
