"""A program's number → the tile it owns, and that tile's loads and stores.

Offsets inside a tile are i32, the tile's own start is i64: a matrix may have more than 2^31 elements.
"""

import triton
import triton.language as tl


@triton.jit
def place_tile(program, tiles_m, tiles_n, GROUP_M: tl.constexpr):
    """Program number → (row, column) of its tile; GROUP_M rows of tiles share their columns of b in the cache."""
    group = program // (GROUP_M * tiles_n)
    rows = tl.minimum(tiles_m - group * GROUP_M, GROUP_M)
    inside = program % (GROUP_M * tiles_n)
    return group * GROUP_M + inside % rows, inside // rows


@triton.jit
def point_rows(base, first, rows, stride, columns, BLOCK: tl.constexpr):
    """Pointers to BLOCK rows from `first` on; rows past the end repeat the last one, so that no row needs a mask."""
    row = tl.minimum(tl.arange(0, BLOCK), rows - 1 - first)
    return base + first.to(tl.int64) * stride + row[:, None] * stride + columns[None, :]


@triton.jit
def load_columns(pointers, columns, width):
    """Rows in full, columns at or past `width` as zero."""
    return tl.load(pointers, mask=columns[None, :] < width, other=0.0)


@triton.jit
def load_bias(bias, first, n, step, has_bias, BLOCK: tl.constexpr):
    """[BLOCK] f32, every step-th value; zero past n, and zero everywhere (nothing is read) if has_bias is 0."""
    column = first + tl.arange(0, BLOCK)
    return tl.load(bias + column * step, mask=(column < n) & (has_bias != 0), other=0.0).to(tl.float32)


@triton.jit
def store_tile(out, value, first_m, first_n, m, n, stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Round to the type of out, and store what lies inside [m, n]."""
    row = tl.arange(0, BLOCK_M)
    column = first_n + tl.arange(0, BLOCK_N)
    start = out + first_m.to(tl.int64) * stride
    inside = (row[:, None] < m - first_m) & (column[None, :] < n)
    tl.store(start + row[:, None] * stride + column[None, :], value.to(out.dtype.element_ty), mask=inside)
