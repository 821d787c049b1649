"""fp8, fp6 and fp4 by tables of all their values: an encoder that shares nothing with the kernels' bit arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rockiln_kernels.references.arrays import Array, Arrays

MX_BLOCK = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """Sign, exponent and mantissa bits; `values` are the finite magnitudes by code, rising."""

    exponent_bits: int
    mantissa_bits: int
    bias: int
    count: int
    """Codes of finite magnitudes."""
    nan: int
    """The code of NaN; 0 where there is none."""
    has_negative_zero: bool = True

    @property
    def sign_shift(self) -> int:
        """The place of the sign bit."""
        return self.exponent_bits + self.mantissa_bits


FORMATS = {
    "e4m3": Format(exponent_bits=4, mantissa_bits=3, bias=7, count=127, nan=0x7F),
    "e5m2": Format(exponent_bits=5, mantissa_bits=2, bias=15, count=124, nan=0x7F),
    "e4m3fnuz": Format(exponent_bits=4, mantissa_bits=3, bias=8, count=128, nan=0x80, has_negative_zero=False),
    "e5m2fnuz": Format(exponent_bits=5, mantissa_bits=2, bias=16, count=128, nan=0x80, has_negative_zero=False),
    "e2m3": Format(exponent_bits=2, mantissa_bits=3, bias=1, count=32, nan=0),
    "e3m2": Format(exponent_bits=3, mantissa_bits=2, bias=3, count=32, nan=0),
    "e2m1": Format(exponent_bits=2, mantissa_bits=1, bias=1, count=8, nan=0),
}


@lru_cache(maxsize=16)
def list_magnitudes(name: str) -> Array:
    """The finite magnitudes of a format in float64, by code."""
    form = FORMATS[name]
    codes = np.arange(form.count)
    exponent, mantissa = codes >> form.mantissa_bits, codes & ((1 << form.mantissa_bits) - 1)
    fraction = mantissa / (1 << form.mantissa_bits)
    small = fraction * 2.0 ** (1 - form.bias)
    values: Array = np.where(exponent == 0, small, (1.0 + fraction) * 2.0 ** (exponent - form.bias))
    return values


def encode(values: Array, name: str) -> Array:
    """Codes (uint8) of float64 values: to nearest, ties to the even code, saturated; NaN where the format has one."""
    form, table = FORMATS[name], list_magnitudes(name)
    magnitude = np.where(np.isnan(values), 0.0, np.minimum(np.abs(values), table[-1]))
    above = np.clip(np.searchsorted(table, magnitude), 1, form.count - 1)
    low, high = table[above - 1], table[above]
    middle = (low + high) / 2.0  # exact in float64
    takes_high = (magnitude > middle) | ((magnitude == middle) & (above % 2 == 0))
    code = np.where(takes_high, above, above - 1)
    sign = np.signbit(values).astype(np.int64) << form.sign_shift
    signed = np.where((code == 0) & (not form.has_negative_zero), 0, code | sign)
    result: Array = np.where(np.isnan(values), form.nan, signed).astype(np.uint8)
    return result


def decode(codes: Array, name: str) -> Array:
    """Float64 values of codes (uint8)."""
    form, table = FORMATS[name], list_magnitudes(name)
    magnitude = codes.astype(np.int64) & ((1 << form.sign_shift) - 1)
    sign = np.where((codes.astype(np.int64) >> form.sign_shift) == 1, -1.0, 1.0)
    value = sign * table[np.minimum(magnitude, form.count - 1)]
    if form.nan == 0x80:
        value = np.where(codes == form.nan, np.nan, value)
    elif form.nan:
        value = np.where(magnitude >= form.count, np.nan, value)
    if name == "e5m2":
        value = np.where(magnitude == form.count, sign * np.inf, value)
    result: Array = value
    return result


def scale_fp8(largest: Array, name: str) -> Array:
    """The f32 scale of groups whose largest magnitude is `largest`: largest / limit, at least 1e-12; NaN of NaN."""
    limit = np.float32(list_magnitudes(name)[-1])
    with np.errstate(invalid="ignore"):
        scale: Array = np.maximum(largest.astype(np.float32) / limit, np.float32(1e-12)).astype(np.float32)
    return scale


def apply_scale(values: Array, scale: Array, name: str) -> Array:
    """fp8 codes of values * (1 / scale), both steps rounded to f32 as the kernels do."""
    with np.errstate(all="ignore"):
        inverse = np.float32(1.0) / scale
        scaled = values.astype(np.float32) * inverse
    return encode(scaled.astype(np.float64), name)


def quantise_fp8(values: Array, name: str, group: int = 0) -> Arrays:
    """{"q", "q_scale"}: one scale a row of [M, N] values, or for `group` values of a row."""
    rows, length = values.shape
    if not group:
        scale = scale_fp8(largest_magnitude(values), name)
        return {"q": apply_scale(values, scale[:, None], name), "q_scale": scale}
    padded = np.zeros((rows, -(-length // group) * group))
    padded[:, :length] = values
    groups = padded.reshape(rows, -1, group)
    scale = scale_fp8(largest_magnitude(groups), name)
    codes = apply_scale(groups, scale[..., None], name).reshape(rows, -1)
    return {"q": np.ascontiguousarray(codes[:, :length]), "q_scale": scale}


def largest_magnitude(values: Array) -> Array:
    """The largest magnitude along the last dim; NaN if there is one."""
    result: Array = np.abs(values).max(axis=-1, initial=0.0)
    return result


def scale_mx(groups: Array, name: str) -> Array:
    """E8M0 codes (uint8) of blocks [..., 32]: see docs/kernels.md, "The MX rounding rule"."""
    form = FORMATS[name]
    top = int(np.floor(np.log2(list_magnitudes(name)[-1])))
    with np.errstate(invalid="ignore"):
        largest = np.abs(groups).max(axis=-1)
    is_special = ~np.isfinite(largest)
    mantissa, exponent = np.frexp(np.where(is_special, 0.0, largest))  # largest = mantissa * 2^exponent, in [1/2, 1)
    steps = 2.0 ** (form.mantissa_bits + 1)
    exponent = exponent + (np.floor(mantissa * steps + 0.5) >= steps)
    code = np.clip(exponent - 1 - top + 127, 0, 254)
    code = np.where(largest < 2.0**-126, np.clip(-top, 0, 254), code)  # f32's subnormals count as 0
    result: Array = np.where(is_special, 255, code).astype(np.uint8)
    return result


def quantise_mx(values: Array, name: str) -> Arrays:
    """{"q", "q_scale"} of [M, N] values, N a multiple of 32: packed codes and E8M0 scales."""
    rows, length = values.shape
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    groups = narrow.astype(np.float64).reshape(rows, length // MX_BLOCK, MX_BLOCK)
    scale = scale_mx(groups, name)
    factor = 2.0 ** (127.0 - scale.astype(np.float64))
    is_nan = (scale == 255)[..., None]
    scaled = np.where(is_nan, 0.0, np.where(is_nan, 0.0, groups) * factor[..., None])
    codes = encode(scaled, name).reshape(rows, length)
    return {"q": pack_codes(codes, name), "q_scale": scale}


def dequantise_mx(packed: Array, scale: Array, name: str) -> Array:
    """Float64 values [M, N] of packed codes and E8M0 scales [M, N / 32]."""
    codes = unpack_codes(packed, name)
    factor = np.where(scale == 255, np.nan, 2.0 ** (scale.astype(np.float64) - 127.0))
    groups: Array = decode(codes, name).reshape(*scale.shape, MX_BLOCK) * factor[..., None]
    return groups.reshape(codes.shape)


def pack_codes(codes: Array, name: str) -> Array:
    """Codes [M, N] → bytes: fp4 two a byte, fp6 four in three, the first element in the lowest bits; fp8 as it is."""
    wide = codes.astype(np.uint32)
    if name == "e2m1":
        return (wide[:, 0::2] | wide[:, 1::2] << 4).astype(np.uint8)
    if name in {"e2m3", "e3m2"}:
        word = wide[:, 0::4] | wide[:, 1::4] << 6 | wide[:, 2::4] << 12 | wide[:, 3::4] << 18
        parts = [(word >> shift & 0xFF).astype(np.uint8) for shift in (0, 8, 16)]
        return np.stack(parts, axis=-1).reshape(codes.shape[0], -1)
    return codes


def unpack_codes(packed: Array, name: str) -> Array:
    """The inverse of pack_codes."""
    wide, rows = packed.astype(np.uint32), packed.shape[0]
    if name == "e2m1":
        return np.stack([wide & 15, wide >> 4], axis=-1).reshape(rows, -1).astype(np.uint8)
    if name in {"e2m3", "e3m2"}:
        word = wide[:, 0::3] | wide[:, 1::3] << 8 | wide[:, 2::3] << 16
        parts = [(word >> shift & 0x3F).astype(np.uint8) for shift in (0, 6, 12, 18)]
        return np.stack(parts, axis=-1).reshape(rows, -1)
    return packed
