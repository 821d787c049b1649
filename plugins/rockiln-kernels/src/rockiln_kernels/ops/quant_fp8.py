"""quant_fp8 in Triton: one f32 scale for a row, a tensor, 128 values of a row, or 128 x 128 values."""

import triton
import triton.language as tl

from rockiln_kernels.ops.narrow import invert, largest_or_nan, magnitude_bits, scale_of, store_fp8
from rockiln_kernels.ops.rows import load_row


@triton.jit
def quant_fp8_token_row(x, q, q_scale, x_stride, N, SOFTWARE: tl.constexpr, MAN: tl.constexpr, BIAS: tl.constexpr,
                        FNUZ: tl.constexpr, LIMIT: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """One program a row, which fits into BLOCK."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    values = load_row(x + row * x_stride, columns, N)
    scale = scale_of(largest_or_nan(values, 0, False), LIMIT)
    tl.store(q_scale + row, scale)
    store_fp8(q + row * N + columns, values * invert(scale), columns < N, SOFTWARE, MAN, BIAS, FNUZ, LIMIT)


@triton.jit
def _largest_of_row(x, N, BLOCK: tl.constexpr):
    """As magnitude_bits, of a row of any length."""
    largest = tl.zeros((BLOCK,), tl.int32)
    for start in range(0, N, BLOCK):
        largest = tl.maximum(largest, magnitude_bits(load_row(x, start + tl.arange(0, BLOCK), N)))
    return tl.max(largest, axis=0)


@triton.jit
def quant_fp8_token_loop(x, q, q_scale, x_stride, N, SOFTWARE: tl.constexpr, MAN: tl.constexpr, BIAS: tl.constexpr,
                         FNUZ: tl.constexpr, LIMIT: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """One program a row of any length: one pass for the largest magnitude, one for the result."""
    row = tl.program_id(0).to(tl.int64)
    x += row * x_stride
    scale = scale_of(_largest_of_row(x, N, BLOCK).to(tl.float32, bitcast=True), LIMIT)
    tl.store(q_scale + row, scale)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        scaled = load_row(x, columns, N) * invert(scale)
        store_fp8(q + row * N + columns, scaled, columns < N, SOFTWARE, MAN, BIAS, FNUZ, LIMIT)


@triton.jit
def find_largest(x, partial, x_stride, M, N, P, BLOCK: tl.constexpr):
    """Program p of P: the largest magnitude of rows p, p + P ..."""
    program = tl.program_id(0)
    largest = 0
    for row in range(program, M, P):
        largest = tl.maximum(largest, _largest_of_row(x + tl.cast(row, tl.int64) * x_stride, N, BLOCK))
    tl.store(partial + program, largest.to(tl.float32, bitcast=True))


@triton.jit
def quant_fp8_tensor(x, partial, q, q_scale, x_stride, N, P, SOFTWARE: tl.constexpr, MAN: tl.constexpr,
                     BIAS: tl.constexpr, FNUZ: tl.constexpr, LIMIT: tl.constexpr, PROGRAMS: tl.constexpr,
                     BLOCK: tl.constexpr):  # fmt: skip
    """One program a row and BLOCK columns; each takes the largest of the P partial results itself."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    scale = scale_of(largest_or_nan(load_row(partial, tl.arange(0, PROGRAMS), P), 0, False), LIMIT)
    if (row == 0) & (tl.program_id(1) == 0):
        tl.store(q_scale, scale)
    scaled = load_row(x + row * x_stride, columns, N) * invert(scale)
    store_fp8(q + row * N + columns, scaled, columns < N, SOFTWARE, MAN, BIAS, FNUZ, LIMIT)


@triton.jit
def quant_fp8_static(x, scale, q, x_stride, N, SOFTWARE: tl.constexpr, MAN: tl.constexpr, BIAS: tl.constexpr,
                     FNUZ: tl.constexpr, LIMIT: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """One program a row and BLOCK columns, by a scale that is given."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    scaled = load_row(x + row * x_stride, columns, N) * invert(tl.load(scale))
    store_fp8(q + row * N + columns, scaled, columns < N, SOFTWARE, MAN, BIAS, FNUZ, LIMIT)


@triton.jit
def quant_fp8_group(x, q, q_scale, x_stride, N, SOFTWARE: tl.constexpr, MAN: tl.constexpr, BIAS: tl.constexpr,
                    FNUZ: tl.constexpr, LIMIT: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """One program a row and BLOCK columns, a scale for 128 of them."""
    row = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * BLOCK
    columns = first + tl.arange(0, BLOCK)
    groups = tl.reshape(load_row(x + row * x_stride, columns, N), (BLOCK // 128, 128))
    scale = scale_of(largest_or_nan(groups, 1, True), LIMIT)
    scaled = tl.reshape(groups * invert(scale), (BLOCK,))
    store_fp8(q + row * N + columns, scaled, columns < N, SOFTWARE, MAN, BIAS, FNUZ, LIMIT)
    count = tl.cdiv(N, 128)
    places = first // 128 + tl.arange(0, BLOCK // 128)
    tl.store(q_scale + row * count + places, tl.reshape(scale, (BLOCK // 128,)), mask=places < count)


@triton.jit
def quant_fp8_block(x, q, q_scale, x_stride, M, N, SOFTWARE: tl.constexpr, MAN: tl.constexpr, BIAS: tl.constexpr,
                    FNUZ: tl.constexpr, LIMIT: tl.constexpr):  # fmt: skip
    """One program a block of 128 x 128 values."""
    rows = tl.program_id(0).to(tl.int64) * 128 + tl.arange(0, 128)[:, None]
    columns = tl.program_id(1) * 128 + tl.arange(0, 128)[None, :]
    inside = (rows < M) & (columns < N)
    values = tl.load(x + rows * x_stride + columns, mask=inside, other=0.0).to(tl.float32)
    scale = scale_of(tl.max(tl.max(magnitude_bits(values), axis=1), axis=0).to(tl.float32, bitcast=True), LIMIT)
    tl.store(q_scale + tl.program_id(0) * tl.cdiv(N, 128) + tl.program_id(1), scale)
    store_fp8(q + rows * N + columns, values * invert(scale), inside, SOFTWARE, MAN, BIAS, FNUZ, LIMIT)
