"""What the *_and_mul ops share: where gate and up lie, their limits, and the loops of programs over tiles.

GATE is a @triton.jit function: gate(a) of f32 values; SLOPE its derivative.
"""

import triton
import triton.language as tl

from rockiln_kernels.ops.blocks import store_mxfp4
from rockiln_kernels.ops.narrow import invert, largest_or_nan, scale_of, store_fp8
from rockiln_kernels.ops.rows import load_row, store_row


@triton.jit
def load_pair(x, columns, D, limit, INTERLEAVED: tl.constexpr):
    """gate and up of a row [2 * D]. A `limit` above 0 cuts gate from above and up from both sides; NaN stays NaN."""
    if INTERLEAVED:
        gate = load_row(x, columns * 2, D * 2)
        up = tl.load(x + columns * 2 + 1, mask=columns < D, other=0.0).to(tl.float32)
    else:
        gate = load_row(x, columns, D)
        up = load_row(x + D, columns, D)
    cut = limit > 0.0
    gate = tl.where(cut & (gate > limit), limit, gate)
    up = tl.where(cut & (up > limit), limit, up)
    return gate, tl.where(cut & (up < -limit), -limit, up)


@triton.jit
def store_product(x, y, x_stride, D, limit, alpha, up_offset, GATE: tl.constexpr, INTERLEAVED: tl.constexpr,
                  BLOCK: tl.constexpr):  # fmt: skip
    """y = GATE(gate) * (up + up_offset): one program a row and BLOCK columns."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    gate, up = load_pair(x + row * x_stride, columns, D, limit, INTERLEAVED)
    store_row(y + row * D, columns, D, GATE(gate, alpha) * (up + up_offset))


@triton.jit
def store_product_fp8(x, q, q_scale, x_stride, D, limit, alpha, up_offset, GATE: tl.constexpr,
                      INTERLEAVED: tl.constexpr, SOFTWARE: tl.constexpr, MAN: tl.constexpr, BIAS: tl.constexpr,
                      FNUZ: tl.constexpr, LIMIT: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """The same in fp8, one scale for 128 columns."""
    row = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * BLOCK
    columns = first + tl.arange(0, BLOCK)
    gate, up = load_pair(x + row * x_stride, columns, D, limit, INTERLEAVED)
    result = tl.where(columns < D, GATE(gate, alpha) * (up + up_offset), 0.0)
    groups = tl.reshape(result, (BLOCK // 128, 128))
    scale = scale_of(largest_or_nan(groups, 1, True), LIMIT)
    scaled = tl.reshape(groups * invert(scale), (BLOCK,))
    store_fp8(q + row * D + columns, scaled, columns < D, SOFTWARE, MAN, BIAS, FNUZ, LIMIT)
    count = tl.cdiv(D, 128)
    places = first // 128 + tl.arange(0, BLOCK // 128)
    tl.store(q_scale + row * count + places, tl.reshape(scale, (BLOCK // 128,)), mask=places < count)


@triton.jit
def store_product_mxfp4(x, q, q_scale, x_stride, D, limit, alpha, up_offset, GATE: tl.constexpr,
                        INTERLEAVED: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """The same in MXFP4."""
    row = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * BLOCK
    columns = first + tl.arange(0, BLOCK)
    gate, up = load_pair(x + row * x_stride, columns, D, limit, INTERLEAVED)
    result = GATE(gate, alpha) * (up + up_offset)
    store_mxfp4(result, q + row * (D // 2), q_scale + row * (D // 32), first, D, BLOCK)


@triton.jit
def store_gradient(dy, x, dx, dy_stride, x_stride, D, limit, alpha, up_offset, GATE: tl.constexpr,
                   SLOPE: tl.constexpr, INTERLEAVED: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """dx of gate and up; 0 where the limit cuts."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    gate, up = load_pair(x + row * x_stride, columns, D, 0.0, INTERLEAVED)
    upstream = load_row(dy + row * dy_stride, columns, D)
    cut = limit > 0.0
    gate_is_cut = cut & (gate > limit)
    up_is_cut = cut & (tl.abs(up) > limit)
    gate = tl.where(gate_is_cut, limit, gate)
    up = tl.where(up_is_cut, tl.where(up > 0.0, limit, -limit), up)
    dgate = tl.where(gate_is_cut, 0.0, upstream * (up + up_offset) * SLOPE(gate, alpha))
    dup = tl.where(up_is_cut, 0.0, upstream * GATE(gate, alpha))
    at = dx + row * D * 2
    if INTERLEAVED:
        store_row(at, columns * 2, D * 2, dgate)
        tl.store(at + columns * 2 + 1, dup.to(dx.dtype.element_ty), mask=columns < D)
    else:
        store_row(at, columns, D, dgate)
        store_row(at + D, columns, D, dup)
