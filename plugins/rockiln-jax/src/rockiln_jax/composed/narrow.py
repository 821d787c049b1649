"""Values → fp8, fp6 and fp4 codes with scales, and back; the same bytes as rockiln_kernels' references.

Codes are made by arithmetic on f32's bits: XLA's own casts saturate differently, and may round twice.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import DTypeLike

from rockiln_jax.dtypes import JAX_DTYPES
from rockiln_kernels.dtypes import DTYPES

SHAPES = {
    "e4m3": (4, 3, 7), "e5m2": (5, 2, 15), "e4m3fnuz": (4, 3, 8), "e5m2fnuz": (5, 2, 16), "e2m3": (2, 3, 1),
    "e3m2": (3, 2, 3), "e2m1": (2, 1, 1),
}  # fmt: skip
"""Bits of exponent and mantissa, bias: OCP's MX specification 1.0, and https://arxiv.org/abs/2206.02915 for fnuz."""
NAN_CODES = {"e4m3": 0x7F, "e5m2": 0x7F, "e4m3fnuz": 0x80, "e5m2fnuz": 0x80}
MX_BLOCK = 32


def widen(x: Array) -> Array:
    """f64 as it is, all else in f32."""
    return x if x.dtype in {jnp.dtype(jnp.float32), jnp.dtype(jnp.float64)} else x.astype(jnp.float32)


def narrow(x: Array, dtype: DTypeLike) -> Array:
    """The result in the op's dtype; f64 stays f64, for differences of slopes."""
    return x if x.dtype == jnp.dtype(jnp.float64) else x.astype(dtype)


def split_last(x: Array, size: int) -> Array:
    """[..., count, size] of x [..., count * size]."""
    return x.reshape(*x.shape[:-1], x.shape[-1] // size, size)


def join_last(x: Array) -> Array:
    """[..., count * size] of x [..., count, size]."""
    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])


def read_bits(values: Array) -> Array:
    """i32 bits of f32."""
    return jax.lax.bitcast_convert_type(values.astype(jnp.float32), jnp.int32)


def find_largest(values: Array) -> Array:
    """max |.| along the last dim, which may be empty (0); NaN if there is one. In f32: XLA's CPU is slow in bf16."""
    return jnp.max(jnp.abs(widen(values)), axis=-1, initial=0.0)


def encode(values: Array, form: str) -> Array:
    """Codes (u8) of f32 values: to nearest even, saturated; NaN where the format has one."""
    exponent_bits, mantissa_bits, bias = SHAPES[form]
    values = values.astype(jnp.float32)
    is_nan = jnp.isnan(values)
    magnitude = jnp.minimum(jnp.where(is_nan, 0.0, jnp.abs(values)), DTYPES[form].maximum)
    own, shift = read_bits(magnitude), 23 - mantissa_bits
    normal = ((own + ((1 << (shift - 1)) - 1) + ((own >> shift) & 1)) >> shift) - ((127 - bias) << mantissa_bits)
    step = 2.0 ** (1 - bias - mantissa_bits)
    small = jnp.round(magnitude * (1.0 / step)).astype(jnp.int32)  # to even; the last is the least normal's
    code = jnp.where(magnitude < 2.0 ** (1 - bias), small, normal)
    sign = ((read_bits(values) >> 31) & 1) << (exponent_bits + mantissa_bits)
    signed = jnp.where(code == 0, 0, code | sign) if form.endswith("fnuz") else code | sign
    return jnp.where(is_nan, NAN_CODES.get(form, 0), signed).astype(jnp.uint8)


def cast_fp8(values: Array, form: str) -> Array:
    """fp8 of f32 values: to nearest even, saturated; NaN stays NaN."""
    return jax.lax.bitcast_convert_type(encode(values, form), JAX_DTYPES[form])


def scale_fp8(largest: Array, form: str) -> Array:
    """f32 scales of groups with these largest magnitudes; at least 1e-12, NaN of NaN."""
    limit = jax.lax.optimization_barrier(jnp.float32(DTYPES[form].maximum))  # XLA multiplies by 1 / a constant
    return jnp.maximum(largest.astype(jnp.float32) / limit, jnp.float32(1e-12))


def apply_scale(values: Array, scale: Array, form: str) -> Array:
    """fp8 of values * (1 / scale), both steps in f32."""
    return cast_fp8(values.astype(jnp.float32) * (jnp.float32(1.0) / scale), form)


def quantise_fp8(values: Array, form: str, group: int = 0) -> tuple[Array, Array]:
    """q, and q_scale [rows] for each row, or [..., groups] for `group` values of a row."""
    length = values.shape[-1]
    if not group:
        scale = scale_fp8(find_largest(values), form)
        return apply_scale(values, scale[..., None], form), scale.reshape(-1)
    padding = [(0, 0)] * (values.ndim - 1) + [(0, -length % group)]
    groups = split_last(jnp.pad(values, padding), group)
    scale = scale_fp8(find_largest(groups), form)
    return join_last(apply_scale(groups, scale[..., None], form))[..., :length], scale


def scale_mx(largest: Array, form: str) -> Array:
    """E8M0 codes (i32) of blocks: the exponent of the largest, rounded to the format's mantissa; 255 is NaN."""
    exponent_bits, mantissa_bits, bias = SHAPES[form]
    bits = read_bits(largest) & 0x7FFFFFFF
    top = (1 << exponent_bits) - 1 - bias - (1 if form == "e5m2" else 0)
    rounded = (bits + (1 << (22 - mantissa_bits))) >> 23
    return jnp.where(bits >= 0x7F800000, 255, jnp.clip(rounded - top, 0, 254))


def multiply_scale(values: Array, code: Array) -> Array:
    """values * 2^(code - 127) of E8M0 codes; NaN of 255. In two steps, as XLA takes f32's subnormals for 0."""
    wide = code.astype(jnp.int32)
    low = wide >> 1
    parts = (low + 64, wide - low + 63)
    first, second = (jax.lax.bitcast_convert_type(part << 23, jnp.float32) for part in parts)
    return jnp.where(wide == 255, jnp.nan, values * first * second)


def quantise_mx(values: Array, form: str) -> tuple[Array, Array]:
    """q packed and q_scale [..., N / 32] u8 of values [..., N], N a multiple of 32."""
    blocks = split_last(values.astype(jnp.float32), MX_BLOCK)
    scale = scale_mx(find_largest(blocks), form)
    is_nan = (scale == 255)[..., None]
    factor = jnp.clip(254 - scale, 0, 254)[..., None]
    scaled = join_last(multiply_scale(jnp.where(is_nan, 0.0, blocks), factor))
    codes = encode(scaled, form)
    if form in NAN_CODES:
        return jax.lax.bitcast_convert_type(codes, JAX_DTYPES[form]), scale.astype(jnp.uint8)
    return pack_codes(codes, form), scale.astype(jnp.uint8)


def pack_codes(codes: Array, form: str) -> Array:
    """u8 codes [..., N] → bytes: fp4 two a byte, fp6 four in three, the first element in the lowest bits."""
    if form == "e2m1":
        return codes[..., 0::2] | codes[..., 1::2] << 4
    a, b, c, d = (codes[..., place::4] for place in range(4))
    return join_last(jnp.stack((a | b << 6, b >> 2 | c << 4, c >> 4 | d << 2), axis=-1))


def unpack_codes(packed: Array, form: str) -> Array:
    """The inverse of pack_codes."""
    if form == "e2m1":
        return join_last(jnp.stack((packed & 15, packed >> 4), axis=-1))
    a, b, c = (packed[..., place::3] for place in range(3))
    return join_last(jnp.stack((a & 63, (a >> 6 | b << 2) & 63, (b >> 4 | c << 4) & 63, c >> 2), axis=-1))


def decode(codes: Array, form: str) -> Array:
    """f32 values of fp6 or fp4 codes, or of fp8 in its dtype or as bytes."""
    if form in NAN_CODES:
        own = codes if codes.dtype != jnp.uint8 else jax.lax.bitcast_convert_type(codes, JAX_DTYPES[form])
        return own.astype(jnp.float32)
    exponent_bits, mantissa_bits, bias = SHAPES[form]
    wide = codes.astype(jnp.int32)
    exponent, fraction = (wide >> mantissa_bits) & ((1 << exponent_bits) - 1), wide & ((1 << mantissa_bits) - 1)
    lead = jnp.where(exponent > 0, 1 << mantissa_bits, 0)
    step = jnp.exp2((jnp.maximum(exponent, 1) - bias - mantissa_bits).astype(jnp.float32))
    magnitude = (lead + fraction).astype(jnp.float32) * step
    return jnp.where((wide >> (exponent_bits + mantissa_bits)) & 1, -magnitude, magnitude)


def dequantise_mx(q: Array, scale: Array, form: str) -> Array:
    """f32 [..., G * 32] of packed codes and E8M0 scales [..., G]."""
    values = decode(q if form in NAN_CODES else unpack_codes(q, form), form)
    return join_last(multiply_scale(split_last(values, MX_BLOCK), scale[..., None]))
