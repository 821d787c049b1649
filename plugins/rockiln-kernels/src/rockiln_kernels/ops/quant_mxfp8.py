"""quant_mxfp8's family in Triton: e4m3 or e5m2 of OCP on every arch, and E8M0 scales of 32 values, and back."""

import triton
import triton.language as tl

from rockiln_kernels.ops.blocks import store_mxfp8
from rockiln_kernels.ops.narrow import decode_e8m0, decode_minifloat
from rockiln_kernels.ops.rows import load_row, store_row


@triton.jit
def quant_mxfp8(x, q, q_scale, x_stride, N, MAN: tl.constexpr, BIAS: tl.constexpr, TOP: tl.constexpr,
                LIMIT: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """One program a row and BLOCK columns."""
    row = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * BLOCK
    values = load_row(x + row * x_stride, first + tl.arange(0, BLOCK), N)
    store_mxfp8(values, q + row * N, q_scale + row * (N // 32), first, N, MAN, BIAS, TOP, LIMIT, BLOCK)


@triton.jit
def _decode(codes, MAN: tl.constexpr, BIAS: tl.constexpr):
    """e4m3 has one NaN a sign, 0x7F; e5m2 has infinity, 0x7C, and NaN above."""
    values = decode_minifloat(codes, MAN, BIAS, 7)
    magnitude = codes & 0x7F
    if MAN == 3:
        return tl.where(magnitude == 0x7F, float("nan"), values)
    infinity = tl.where(codes >= 0x80, float("-inf"), float("inf"))
    return tl.where(magnitude > 0x7C, float("nan"), tl.where(magnitude == 0x7C, infinity, values))


@triton.jit
def dequant_mxfp8(q, q_scale, y, N, MAN: tl.constexpr, BIAS: tl.constexpr, BLOCK: tl.constexpr):
    """One program a row and BLOCK columns."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    codes = tl.load(q + row * N + columns, mask=columns < N, other=0).to(tl.int32)
    scale = tl.load(q_scale + row * (N // 32) + columns // 32, mask=columns < N, other=127).to(tl.int32)
    store_row(y + row * N, columns, N, _decode(codes, MAN, BIAS) * decode_e8m0(scale))
