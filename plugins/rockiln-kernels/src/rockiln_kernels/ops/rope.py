"""rope's family in Triton: NeoX pairs x[i], x[i + R]; GPT-J pairs x[2i], x[2i + 1]; dims from 2R on are copied."""

import triton
import triton.language as tl


@triton.jit
def rope(x, cos, sin, positions, y, x_stride, H, D, R, INVERSE: tl.constexpr, INTERLEAVED: tl.constexpr,
         HEADS: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """One program a token and HEADS heads; BLOCK is at least R, the number of pairs."""
    token = tl.program_id(0).to(tl.int64)
    heads = tl.program_id(1) * HEADS + tl.arange(0, HEADS)[:, None]
    pairs = tl.arange(0, BLOCK)[None, :]
    position = tl.load(positions + token).to(tl.int64)
    c = tl.load(cos + position * R + pairs, mask=pairs < R, other=0.0)
    s = tl.load(sin + position * R + pairs, mask=pairs < R, other=0.0)
    if INVERSE:
        s = -s
    inside = (heads < H) & (pairs < R)
    first = pairs * 2 if INTERLEAVED else pairs
    second = first + (1 if INTERLEAVED else R)
    source = x + token * x_stride + heads * D
    target = y + token * H * D + heads * D
    a = tl.load(source + first, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(source + second, mask=inside, other=0.0).to(tl.float32)
    tl.store(target + first, (a * c - b * s).to(y.dtype.element_ty), mask=inside)
    tl.store(target + second, (b * c + a * s).to(y.dtype.element_ty), mask=inside)
    for start in range(2 * R, D, BLOCK):
        columns = start + pairs
        rest = (heads < H) & (columns < D)
        tl.store(target + columns, tl.load(source + columns, mask=rest), mask=rest)
