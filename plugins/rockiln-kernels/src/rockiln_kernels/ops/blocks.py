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
def _join_quads(codes):
    """Six-bit codes [Q, 2, 2] → 24-bit words [Q]."""
    even, odd = tl.split(codes)
    c0, c2 = tl.split(even)
    c1, c3 = tl.split(odd)
    return c0 | (c1 << 6) | (c2 << 12) | (c3 << 18)


@triton.jit
def store_mxfp6(values, q, scale, first, length, MAN: tl.constexpr, BIAS: tl.constexpr, TOP: tl.constexpr,
                LIMIT: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """As store_mxfp4, with six bits an element: four in three bytes, the first in the lowest bits. `q` is 4-aligned."""
    groups = tl.reshape(values, (BLOCK // 32, 32))
    code = mx_scale(largest_or_nan(groups, 1, True), MAN, TOP)
    quads = _join_quads(tl.reshape(mx_encode(groups, code, MAN, BIAS, LIMIT, 5), (BLOCK // 4, 2, 2)))
    even, odd = tl.split(tl.reshape(quads, (BLOCK // 16, 2, 2)))
    w0, w2 = tl.split(even)
    w1, w3 = tl.split(odd)
    words = q.to(tl.pointer_type(tl.int32)) + (first // 16 + tl.arange(0, BLOCK // 16)) * 3
    inside = first // 16 + tl.arange(0, BLOCK // 16) < length // 16
    tl.store(words, w0 | (w1 << 24), mask=inside)
    tl.store(words + 1, (w1 >> 8) | (w2 << 16), mask=inside)
    tl.store(words + 2, (w2 >> 16) | (w3 << 8), mask=inside)
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
