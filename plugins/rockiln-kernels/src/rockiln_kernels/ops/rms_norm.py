"""rms_norm's family in Triton. Rows are read whole where they fit into registers, else in two passes."""

import triton
import triton.language as tl

from rockiln_kernels.ops.rows import load_row


@triton.jit
def _inverse_rms(sum_of_squares, N, eps):
    return 1.0 / tl.sqrt_rn(sum_of_squares / N + eps)


@triton.jit
def rms_norm_row(x, weight, y, x_stride, N, eps, weight_offset, BLOCK: tl.constexpr):
    """One program a row, which fits into BLOCK."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    values = load_row(x + row * x_stride, columns, N)
    scale = _inverse_rms(tl.sum(values * values, axis=0), N, eps)
    factor = load_row(weight, columns, N) + weight_offset
    tl.store(y + row * N + columns, (values * scale * factor).to(y.dtype.element_ty), mask=columns < N)


@triton.jit
def rms_norm_loop(x, weight, y, x_stride, N, eps, weight_offset, BLOCK: tl.constexpr):
    """One program a row of any length: one pass for the sum, one for the result."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        values = load_row(x + row * x_stride, start + columns, N)
        squares += values * values
    scale = _inverse_rms(tl.sum(squares, axis=0), N, eps)
    for start in range(0, N, BLOCK):
        values = load_row(x + row * x_stride, start + columns, N)
        factor = load_row(weight, start + columns, N) + weight_offset
        result = (values * scale * factor).to(y.dtype.element_ty)
        tl.store(y + row * N + start + columns, result, mask=start + columns < N)
