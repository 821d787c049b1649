"""quant_mxfp4's family in Triton: e2m1 pairs and E8M0 scales of 32 values along a row, and back."""

import triton
import triton.language as tl

from rockiln_kernels.ops.blocks import store_mxfp4
from rockiln_kernels.ops.narrow import decode_e8m0, decode_minifloat
from rockiln_kernels.ops.rows import load_row, store_row


@triton.jit
def quant_mxfp4(x, q, q_scale, x_stride, N, BLOCK: tl.constexpr):
    """One program a row and BLOCK columns."""
    row = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * BLOCK
    values = load_row(x + row * x_stride, first + tl.arange(0, BLOCK), N)
    store_mxfp4(values, q + row * (N // 2), q_scale + row * (N // 32), first, N, BLOCK)


@triton.jit
def dequant_mxfp4(q, q_scale, y, N, BLOCK: tl.constexpr):
    """One program a row and BLOCK columns."""
    row = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * BLOCK
    pairs = first // 2 + tl.arange(0, BLOCK // 2)
    both = tl.load(q + row * (N // 2) + pairs, mask=pairs < N // 2, other=0).to(tl.int32)
    codes = tl.reshape(tl.join(both & 15, both >> 4), (BLOCK,))
    columns = first + tl.arange(0, BLOCK)
    scale = tl.load(q_scale + row * (N // 32) + columns // 32, mask=columns < N, other=127).to(tl.int32)
    store_row(y + row * N, columns, N, decode_minifloat(codes, 1, 1, 3) * decode_e8m0(scale))
