"""Device functions that round f32 to fp8, fp6 and fp4 and back. One rule: to nearest, ties to even, then saturate.

Formats: OCP 8-bit Floating Point (OFP8) 1.0; OCP Microscaling Formats (MX) 1.0; the fnuz kinds of
https://arxiv.org/abs/2206.02915. MAN is the count of stored mantissa bits, BIAS the exponent's bias.
"""

import triton
import triton.language as tl


@triton.jit
def is_nan(value):
    """Whether each element is NaN."""
    return value != value  # noqa: PLR0124  # only a NaN differs from itself


@triton.jit
def clamp_keeping_nan(value, limit):
    """value within [-limit, limit]; NaN stays NaN."""
    value = tl.where(value > limit, limit, value)
    return tl.where(value < -limit, -limit, value)


@triton.jit
def encode_minifloat(value, MAN: tl.constexpr, BIAS: tl.constexpr):
    """Codes (int32, the sign left out) of |value|, which must be finite and within the format's range."""
    bits = value.to(tl.int32, bitcast=True) & 0x7FFFFFFF
    half = (1 << (22 - MAN)) - 1
    normal = ((bits + half + ((bits >> (23 - MAN)) & 1)) >> (23 - MAN)) - ((127 - BIAS) << MAN)
    # Below the least normal number the hardware's own rounding does it: adding 2^k leaves multiples of the least step.
    magic: tl.constexpr = (127 + 24 - BIAS - MAN) << 23
    shifter = tl.full(value.shape, magic, tl.int32).to(tl.float32, bitcast=True)
    small = (tl.abs(value) + shifter).to(tl.int32, bitcast=True) - magic
    return tl.where(bits < ((128 - BIAS) << 23), small, normal)


@triton.jit
def sign_bit(value):
    """1 for negative numbers, -0 included, else 0 (int32)."""
    return (value.to(tl.int32, bitcast=True) >> 31) & 1


@triton.jit
def encode_fp8(value, MAN: tl.constexpr, BIAS: tl.constexpr, FNUZ: tl.constexpr, LIMIT: tl.constexpr):
    """fp8 bytes (uint8) of f32 values, saturated at LIMIT; NaN becomes the format's NaN."""
    nan = is_nan(value)
    code = encode_minifloat(clamp_keeping_nan(tl.where(nan, 0.0, value), LIMIT), MAN, BIAS)
    sign = sign_bit(value) << 7
    if FNUZ:
        code = tl.where(nan, 0x80, tl.where(code == 0, 0, code | sign))
    else:
        code = tl.where(nan, 0x7F, code | sign)
    return code.to(tl.uint8)


@triton.jit
def store_fp8(
    place, value, mask, SOFTWARE: tl.constexpr, MAN: tl.constexpr, BIAS: tl.constexpr, FNUZ: tl.constexpr,
    LIMIT: tl.constexpr,
):  # fmt: skip
    """Store f32 values as fp8: by the hardware's conversion where the pointer has an fp8 type, else by encode_fp8."""
    if SOFTWARE:
        tl.store(place, encode_fp8(value, MAN, BIAS, FNUZ, LIMIT), mask=mask)
    else:
        tl.store(place, clamp_keeping_nan(value, LIMIT).to(place.dtype.element_ty), mask=mask)


@triton.jit
def scale_of(largest, LIMIT: tl.constexpr):
    """The f32 scale that maps `largest` to LIMIT; never below 1e-12, so that its inverse is finite. NaN stays NaN."""
    scale = tl.div_rn(largest, LIMIT + tl.zeros_like(largest))
    return tl.where(scale < 1e-12, 1e-12, scale)


@triton.jit
def invert(scale):
    """1 / scale, correctly rounded."""
    return tl.div_rn(tl.zeros_like(scale) + 1.0, scale)


@triton.jit
def mx_scale(largest, MAN: tl.constexpr, TOP: tl.constexpr):
    """E8M0 codes (int32) of blocks whose largest magnitude is `largest`.

    The magnitude is first rounded to the element's MAN bits, half up; its exponent less TOP (the exponent of the
    format's largest number) is the scale. NaN and infinity give 255, E8M0's NaN.
    """
    bits = largest.to(tl.int32, bitcast=True)
    exponent = ((bits + (1 << (22 - MAN))) >> 23) & 0xFF
    code = tl.minimum(tl.maximum(exponent - TOP, 0), 254)
    return tl.where((bits & 0x7FFFFFFF) >= 0x7F800000, 255, code)


@triton.jit
def magnitude_bits(value):
    """|value| as int32: the order of magnitudes is kept, with infinity and then NaN on top, so max() loses no NaN."""
    return value.to(tl.int32, bitcast=True) & 0x7FFFFFFF


@triton.jit
def largest_or_nan(value, axis: tl.constexpr, KEEP: tl.constexpr):
    """The largest magnitude along `axis`, which stays as a dim of one if KEEP; NaN if any element is NaN."""
    return tl.max(magnitude_bits(value), axis=axis, keep_dims=KEEP).to(tl.float32, bitcast=True)


@triton.jit
def mx_encode(value, code, MAN: tl.constexpr, BIAS: tl.constexpr, LIMIT: tl.constexpr, SIGN: tl.constexpr):
    """Element codes (int32) of f32 values in a block with E8M0 `code`; 0 where that is NaN. SIGN is the sign's bit."""
    inverse = ((254 - code) << 23).to(tl.float32, bitcast=True)
    scaled = tl.where(code == 255, 0.0, value * tl.where(code == 255, 1.0, inverse))
    return encode_minifloat(clamp_keeping_nan(scaled, LIMIT), MAN, BIAS) | (sign_bit(scaled) << SIGN)


@triton.jit
def decode_minifloat(code, MAN: tl.constexpr, BIAS: tl.constexpr, SIGN: tl.constexpr):
    """f32 values of codes (int32) of a format without NaN and infinity."""
    magnitude = code & ((1 << SIGN) - 1)
    least: tl.constexpr = 2.0 ** (1 - BIAS - MAN)
    small = magnitude.to(tl.float32) * least
    normal = ((magnitude << (23 - MAN)) + ((127 - BIAS) << 23)).to(tl.float32, bitcast=True)
    value = tl.where(magnitude < (1 << MAN), small, normal)
    signed = value.to(tl.int32, bitcast=True) | ((code >> SIGN) << 31)
    return signed.to(tl.float32, bitcast=True)


@triton.jit
def decode_e8m0(code):
    """f32 values of E8M0 codes (int32): 2^(code - 127), NaN of 255."""
    bits = tl.where(code == 0, 0x00400000, code << 23)
    return tl.where(code == 255, 0x7FC00000, bits).to(tl.float32, bitcast=True)
