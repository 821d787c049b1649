"""fp8, mxfp8 and mxfp4 codes → f16 or bf16 in registers, for archs and formats without an instruction for it.

Formats: OCP 8-bit Floating Point (OFP8) 1.0 and OCP Microscaling Formats (MX) 1.0.
"""

import triton
import triton.language as tl


@triton.jit
def decode_e4m3(code):
    """u8 → f32, exact. The bits are those of an f32 whose exponent is 120 too small, subnormals included."""
    word = code.to(tl.int32)
    bits = ((word & 0x80) << 24) | ((word & 0x7F) << 20)
    return tl.where((word & 0x7F) == 0x7F, float("nan"), bits.to(tl.float32, bitcast=True) * 1.329227995784916e36)


@triton.jit
def decode_e5m2(code):
    """u8 → f32, exact: the upper half of an f16."""
    return (code.to(tl.int32) << 8).to(tl.int16).to(tl.float16, bitcast=True).to(tl.float32)


@triton.jit
def narrow_exactly(value, TYPE: tl.constexpr):
    """f32 → TYPE for values that TYPE holds exactly: bf16 is the upper half, and no rounding code is needed."""
    if TYPE == tl.bfloat16:  # noqa: SIM300  # TYPE is no constant to ruff, but to Triton
        result = (value.to(tl.int32, bitcast=True) >> 16).to(tl.int16).to(tl.bfloat16, bitcast=True)
    else:
        result = value.to(TYPE)
    return result


@triton.jit
def decode_e2m1(codes, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """u8 [ROWS, COLUMNS // 2], the first of two values in the low half → bf16 [ROWS, COLUMNS], exact."""
    code = tl.reshape(tl.join(codes & 15, codes >> 4), (ROWS, COLUMNS)).to(tl.int32)
    # e2m1 as bf16 bits with an exponent 126 too small; 0.5 is a subnormal of e2m1 alone
    half = tl.where((code & 7) == 1, 0x3F00, 0)
    bits = tl.where((code & 7) < 2, half, ((code & 7) << 6) + 0x3F00) | ((code & 8) << 12)
    return bits.to(tl.int16).to(tl.bfloat16, bitcast=True)


@triton.jit
def decode_e8m0(code):
    """u8 → bf16 power of two; 0 is 2^-127 (a subnormal) and 255 is NaN."""
    bits = code.to(tl.int16) << 7
    bits = tl.where(code == 0, 0x0040, bits)
    return tl.where(code == 255, 0x7FC0, bits).to(tl.int16).to(tl.bfloat16, bitcast=True)


@triton.jit
def widen(codes, FORMAT: tl.constexpr, TYPE: tl.constexpr):
    """codes → TYPE. FORMAT "e4m3" or "e5m2" says that codes are plain bytes; "" that they have a type of their own."""
    if FORMAT == "e4m3":
        result = narrow_exactly(decode_e4m3(codes), TYPE)
    elif FORMAT == "e5m2":
        result = narrow_exactly(decode_e5m2(codes), TYPE)
    elif codes.dtype == TYPE:
        result = codes
    else:
        # through f32: Triton 3.4.0 takes e4m3fnuz to f16 as if there were no subnormals
        result = codes.to(tl.float32).to(TYPE)
    return result


@triton.jit
def scale_blocks(values, scales, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """bf16 [ROWS, COLUMNS] times one e8m0 scale (u8 [ROWS, COLUMNS // 32]) for each 32 values of a row → bf16."""
    factor = decode_e8m0(scales)
    blocks = tl.reshape(values, (ROWS, COLUMNS // 32, 32)) * factor[:, :, None]
    return tl.reshape(blocks, (ROWS, COLUMNS))
