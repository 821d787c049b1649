"""rms_norm's family in Triton. Rows are read whole where they fit into registers, else in two or three passes."""

import triton
import triton.language as tl

from rockiln_kernels.ops.blocks import store_mxfp4
from rockiln_kernels.ops.narrow import invert, largest_or_nan, magnitude_bits, scale_of, store_fp8
from rockiln_kernels.ops.rows import load_row, store_row


@triton.jit
def _inverse_rms(sum_of_squares, N, eps):
    return tl.div_rn(1.0, tl.sqrt_rn(sum_of_squares / N + eps))


@triton.jit
def _read(x, residual, columns, N, HAS_RESIDUAL: tl.constexpr):
    """x, or x + residual rounded to their type, as the unfused ops would have it."""
    values = load_row(x, columns, N)
    if HAS_RESIDUAL:
        values = (values + load_row(residual, columns, N)).to(x.dtype.element_ty).to(tl.float32)
    return values


@triton.jit
def _row_scale(x, residual, residual_out, N, eps, HAS_RESIDUAL: tl.constexpr, BLOCK: tl.constexpr):
    """1 / rms of a row of any length; stores the sum with the residual on the way."""
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        values = _read(x, residual, columns, N, HAS_RESIDUAL)
        if HAS_RESIDUAL:
            store_row(residual_out, columns, N, values)
        squares += values * values
    return _inverse_rms(tl.sum(squares, axis=0), N, eps)


@triton.jit
def _normalise(values, weight, columns, N, scale, weight_offset):
    return values * scale * (load_row(weight, columns, N) + weight_offset)


@triton.jit
def rms_norm_row(x, residual, weight, y, residual_out, x_stride, residual_stride, N, eps, weight_offset,
                 HAS_RESIDUAL: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """One program a row, which fits into BLOCK."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    values = _read(x + row * x_stride, residual + row * residual_stride, columns, N, HAS_RESIDUAL)
    if HAS_RESIDUAL:
        store_row(residual_out + row * N, columns, N, values)
    scale = _inverse_rms(tl.sum(values * values, axis=0), N, eps)
    store_row(y + row * N, columns, N, _normalise(values, weight, columns, N, scale, weight_offset))


@triton.jit
def rms_norm_loop(x, residual, weight, y, residual_out, x_stride, residual_stride, N, eps, weight_offset,
                  HAS_RESIDUAL: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """One program a row of any length: one pass for the sum, one for the result."""
    row = tl.program_id(0).to(tl.int64)
    x += row * x_stride
    residual += row * residual_stride
    scale = _row_scale(x, residual, residual_out + row * N, N, eps, HAS_RESIDUAL, BLOCK)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        values = _read(x, residual, columns, N, HAS_RESIDUAL)
        store_row(y + row * N, columns, N, _normalise(values, weight, columns, N, scale, weight_offset))


@triton.jit
def rms_norm_fp8_row(x, residual, weight, q, q_scale, residual_out, x_stride, residual_stride, N, eps, weight_offset,
                     HAS_RESIDUAL: tl.constexpr, SOFTWARE: tl.constexpr, MAN: tl.constexpr, BIAS: tl.constexpr,
                     FNUZ: tl.constexpr, LIMIT: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """As rms_norm_row, rounded to fp8 with one scale a row."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    values = _read(x + row * x_stride, residual + row * residual_stride, columns, N, HAS_RESIDUAL)
    if HAS_RESIDUAL:
        store_row(residual_out + row * N, columns, N, values)
    scale = _inverse_rms(tl.sum(values * values, axis=0), N, eps)
    result = _normalise(values, weight, columns, N, scale, weight_offset)
    fp8_scale = scale_of(largest_or_nan(result, 0, False), LIMIT)
    tl.store(q_scale + row, fp8_scale)
    store_fp8(q + row * N + columns, result * invert(fp8_scale), columns < N, SOFTWARE, MAN, BIAS, FNUZ, LIMIT)


@triton.jit
def rms_norm_fp8_loop(x, residual, weight, q, q_scale, residual_out, x_stride, residual_stride, N, eps, weight_offset,
                      HAS_RESIDUAL: tl.constexpr, SOFTWARE: tl.constexpr, MAN: tl.constexpr, BIAS: tl.constexpr,
                      FNUZ: tl.constexpr, LIMIT: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """As rms_norm_fp8_row for rows of any length: passes for the sum, the largest magnitude, and the result."""
    row = tl.program_id(0).to(tl.int64)
    x += row * x_stride
    residual += row * residual_stride
    scale = _row_scale(x, residual, residual_out + row * N, N, eps, HAS_RESIDUAL, BLOCK)
    largest = tl.zeros((BLOCK,), tl.int32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        values = _read(x, residual, columns, N, HAS_RESIDUAL)
        result = _normalise(values, weight, columns, N, scale, weight_offset)
        largest = tl.maximum(largest, magnitude_bits(result))
    fp8_scale = scale_of(tl.max(largest, axis=0).to(tl.float32, bitcast=True), LIMIT)
    tl.store(q_scale + row, fp8_scale)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        values = _read(x, residual, columns, N, HAS_RESIDUAL)
        result = _normalise(values, weight, columns, N, scale, weight_offset) * invert(fp8_scale)
        store_fp8(q + row * N + columns, result, columns < N, SOFTWARE, MAN, BIAS, FNUZ, LIMIT)


@triton.jit
def rms_norm_mxfp4_row(x, residual, weight, q, q_scale, residual_out, x_stride, residual_stride, N, eps, weight_offset,
                       HAS_RESIDUAL: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """As rms_norm_row, rounded to MXFP4."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    values = _read(x + row * x_stride, residual + row * residual_stride, columns, N, HAS_RESIDUAL)
    if HAS_RESIDUAL:
        store_row(residual_out + row * N, columns, N, values)
    scale = _inverse_rms(tl.sum(values * values, axis=0), N, eps)
    result = _normalise(values, weight, columns, N, scale, weight_offset)
    store_mxfp4(result, q + row * (N // 2), q_scale + row * (N // 32), 0, N, BLOCK)


@triton.jit
def rms_norm_mxfp4_loop(x, residual, weight, q, q_scale, residual_out, x_stride, residual_stride, N, eps, weight_offset,
                        HAS_RESIDUAL: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """As rms_norm_mxfp4_row for rows of any length."""
    row = tl.program_id(0).to(tl.int64)
    x += row * x_stride
    residual += row * residual_stride
    scale = _row_scale(x, residual, residual_out + row * N, N, eps, HAS_RESIDUAL, BLOCK)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        values = _read(x, residual, columns, N, HAS_RESIDUAL)
        result = _normalise(values, weight, columns, N, scale, weight_offset)
        store_mxfp4(result, q + row * (N // 2), q_scale + row * (N // 32), start, N, BLOCK)


@triton.jit
def _row_gradient(dy, x, weight, dx, N, eps, weight_offset, BLOCK: tl.constexpr):
    """Store dx of one row, which fits into BLOCK; returns its share of dweight.

    With r = 1 / rms: dx = r * (g - x * r^2 * mean(g * x)), g = dy * (weight + weight_offset).
    """
    columns = tl.arange(0, BLOCK)
    values, upstream = load_row(x, columns, N), load_row(dy, columns, N)
    scale = _inverse_rms(tl.sum(values * values, axis=0), N, eps)
    weighted = upstream * (load_row(weight, columns, N) + weight_offset)
    mean = tl.sum(weighted * values, axis=0) / N
    store_row(dx, columns, N, scale * (weighted - values * (scale * scale * mean)))
    return tl.where(columns < N, upstream * values * scale, 0.0)


@triton.jit
def rms_norm_backward_row(dy, x, weight, dx, partial, dy_stride, x_stride, M, N, P, eps, weight_offset,
                          BLOCK: tl.constexpr):  # fmt: skip
    """Program p of P takes rows p, p + P ...: their dx, and one row of partial sums of dweight."""
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(program, M, P):
        at = tl.cast(row, tl.int64)
        total += _row_gradient(
            dy + at * dy_stride, x + at * x_stride, weight, dx + at * N, N, eps, weight_offset, BLOCK
        )
    store_row(partial + program.to(tl.int64) * N, columns, N, total)


@triton.jit
def _long_row_factors(dy, x, weight, N, eps, weight_offset, BLOCK: tl.constexpr):
    """r and r^2 * mean(g * x) of _row_gradient, for a row of any length."""
    squares = tl.zeros((BLOCK,), tl.float32)
    products = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        values = load_row(x, columns, N)
        squares += values * values
        products += load_row(dy, columns, N) * (load_row(weight, columns, N) + weight_offset) * values
    scale = _inverse_rms(tl.sum(squares, axis=0), N, eps)
    return scale, scale * scale * (tl.sum(products, axis=0) / N)


@triton.jit
def rms_norm_backward_loop(dy, x, weight, dx, partial, dy_stride, x_stride, M, N, P, eps, weight_offset,
                           BLOCK: tl.constexpr):  # fmt: skip
    """As rms_norm_backward_row for rows of any length; the partial sums grow in memory, each by its own thread."""
    program = tl.program_id(0)
    sums = partial + program.to(tl.int64) * N
    for row in range(program, M, P):
        at = tl.cast(row, tl.int64)
        scale, factor = _long_row_factors(
            dy + at * dy_stride, x + at * x_stride, weight, N, eps, weight_offset, BLOCK
        )
        for start in range(0, N, BLOCK):
            columns = start + tl.arange(0, BLOCK)
            values, upstream = load_row(x + at * x_stride, columns, N), load_row(dy + at * dy_stride, columns, N)
            weighted = upstream * (load_row(weight, columns, N) + weight_offset)
            store_row(dx + at * N, columns, N, scale * (weighted - values * factor))
            before = tl.load(sums + columns, mask=(columns < N) & (row != program), other=0.0)
            store_row(sums, columns, N, before + upstream * values * scale)


@triton.jit
def sum_partial(partial, dweight, N, P, BLOCK: tl.constexpr):
    """dweight = the sum of P rows of partial sums, always in the same order."""
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(P):
        total += load_row(partial, columns, N)
        partial += N
    store_row(dweight, columns, N, total)
