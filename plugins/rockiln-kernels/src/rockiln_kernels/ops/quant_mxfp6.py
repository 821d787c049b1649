"""quant_mxfp6's family in Triton: e2m3 or e3m2, four in three bytes, and E8M0 scales of 32 values, and back."""

import triton
import triton.language as tl

from rockiln_kernels.ops.blocks import store_mxfp6
from rockiln_kernels.ops.narrow import decode_e8m0, decode_minifloat
from rockiln_kernels.ops.rows import load_row, store_row


@triton.jit
def quant_mxfp6(x, q, q_scale, x_stride, N, MAN: tl.constexpr, BIAS: tl.constexpr, TOP: tl.constexpr,
                LIMIT: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """One program a row and BLOCK columns."""
    row = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * BLOCK
    values = load_row(x + row * x_stride, first + tl.arange(0, BLOCK), N)
    start = q + row * (N // 4 * 3)
    store_mxfp6(values, start, q_scale + row * (N // 32), first, N, MAN, BIAS, TOP, LIMIT, BLOCK)


@triton.jit
def _load_codes(q, first, N, BLOCK: tl.constexpr):
    """BLOCK six-bit codes from element `first` on."""
    quads = first // 4 + tl.arange(0, BLOCK // 4)
    inside = quads < N // 4
    b0 = tl.load(q + quads * 3, mask=inside, other=0).to(tl.int32)
    b1 = tl.load(q + quads * 3 + 1, mask=inside, other=0).to(tl.int32)
    b2 = tl.load(q + quads * 3 + 2, mask=inside, other=0).to(tl.int32)
    word = b0 | (b1 << 8) | (b2 << 16)
    even = tl.join(word & 63, (word >> 12) & 63)
    odd = tl.join((word >> 6) & 63, word >> 18)
    return tl.reshape(tl.join(even, odd), (BLOCK,))


@triton.jit
def dequant_mxfp6(q, q_scale, y, N, MAN: tl.constexpr, BIAS: tl.constexpr, BLOCK: tl.constexpr):
    """One program a row and BLOCK columns."""
    row = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * BLOCK
    codes = _load_codes(q + row * (N // 4 * 3), first, N, BLOCK)
    columns = first + tl.arange(0, BLOCK)
    scale = tl.load(q_scale + row * (N // 32) + columns // 32, mask=columns < N, other=127).to(tl.int32)
    store_row(y + row * N, columns, N, decode_minifloat(codes, MAN, BIAS, 5) * decode_e8m0(scale))
