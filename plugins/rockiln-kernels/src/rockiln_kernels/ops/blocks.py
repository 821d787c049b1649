"""Device functions that store a tile [ROWS of blocks, 32] as MX blocks, packed."""

import triton
import triton.language as tl

from rockiln_kernels.ops.narrow import largest_or_nan, mx_encode, mx_scale


@triton.jit
def store_mxfp4(values, q, scale, first, length, BLOCK: tl.constexpr):
    """Store BLOCK f32 values of a row as e2m1 pairs, low nibble first, and E8M0 scales, from element `first` on.

    `q` and `scale` are the starts of the row's outputs, `length` the row's elements, a multiple of 32.
    """
    groups = tl.reshape(values, (BLOCK // 32, 32))
    code = mx_scale(largest_or_nan(groups, 1, True), 1, 2)
    elements = tl.reshape(mx_encode(groups, code, 1, 1, 6.0, 3), (BLOCK // 2, 2))
    low, high = tl.split(elements)
    pairs = first // 2 + tl.arange(0, BLOCK // 2)
    tl.store(q + pairs, (low | (high << 4)).to(tl.uint8), mask=pairs < length // 2)
    store_scales(code, scale, first, length, BLOCK)


@triton.jit
def store_scales(code, scale, first, length, BLOCK: tl.constexpr):
    """Store the E8M0 codes of the blocks that hold elements `first` to `first + BLOCK` of a row."""
    places = first // 32 + tl.arange(0, BLOCK // 32)
    tl.store(scale + places, tl.reshape(code, (BLOCK // 32,)).to(tl.uint8), mask=places < length // 32)


@triton.jit
def store_mxfp6(values, q, scale, first, length, MAN: tl.constexpr, BIAS: tl.constexpr, TOP: tl.constexpr,
                LIMIT: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """As store_mxfp4, with six bits an element: four elements in three bytes, the first in the lowest bits."""
    groups = tl.reshape(values, (BLOCK // 32, 32))
    code = mx_scale(largest_or_nan(groups, 1, True), MAN, TOP)
    elements = tl.reshape(mx_encode(groups, code, MAN, BIAS, LIMIT, 5), (BLOCK // 4, 2, 2))
    even, odd = tl.split(elements)
    c0, c2 = tl.split(even)
    c1, c3 = tl.split(odd)
    quads = first // 4 + tl.arange(0, BLOCK // 4)
    inside = quads < length // 4
    tl.store(q + quads * 3, (c0 | (c1 << 6)).to(tl.uint8), mask=inside)
    tl.store(q + quads * 3 + 1, ((c1 >> 2) | (c2 << 4)).to(tl.uint8), mask=inside)
    tl.store(q + quads * 3 + 2, ((c2 >> 4) | (c3 << 2)).to(tl.uint8), mask=inside)
    store_scales(code, scale, first, length, BLOCK)


@triton.jit
def store_mxfp8(values, q, scale, first, length, MAN: tl.constexpr, BIAS: tl.constexpr, TOP: tl.constexpr,
                LIMIT: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """As store_mxfp4, with one byte an element."""
    groups = tl.reshape(values, (BLOCK // 32, 32))
    code = mx_scale(largest_or_nan(groups, 1, True), MAN, TOP)
    elements = tl.reshape(mx_encode(groups, code, MAN, BIAS, LIMIT, 7), (BLOCK,))
    places = first + tl.arange(0, BLOCK)
    tl.store(q + places, elements.to(tl.uint8), mask=places < length)
    store_scales(code, scale, first, length, BLOCK)
