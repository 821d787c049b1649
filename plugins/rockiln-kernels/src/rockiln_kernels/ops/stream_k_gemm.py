"""a [M, K], b [N, K] → out [M, N] = a · bᵀ, the same number of steps of BLOCK_K for each of a fixed count of programs.

All steps of all tiles lie in one row, and each program takes its share of it: the rest of one tile, whole tiles, the
beginning of another. Whole tiles are stored; beginnings, middles and rests are parts, at most two a program, which a
second kernel adds up in the order of the programs. No program waits for another, and each sum has one order.
"""

import triton
import triton.language as tl

from rockiln_kernels.ops.tile import load_columns, point_rows, store_tile


@triton.jit
def multiply_steps(a, b, tile, first, last, M, N, K, a_stride, b_stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                   BLOCK_K: tl.constexpr):  # fmt: skip
    """Steps first ... last - 1 of one tile, f32."""
    tiles_n = tl.cdiv(N, BLOCK_N)
    column = tl.arange(0, BLOCK_K)
    a_rows = point_rows(a, tile // tiles_n * BLOCK_M, M, a_stride, column, BLOCK_M)
    b_rows = point_rows(b, tile % tiles_n * BLOCK_N, N, b_stride, column, BLOCK_N)
    product = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(first * BLOCK_K, last * BLOCK_K, BLOCK_K):
        left = load_columns(a_rows + start, column, K - start)
        right = load_columns(b_rows + start, column, K - start)
        product = tl.dot(left, tl.trans(right), product, input_precision="ieee")
    return product


@triton.jit
def stream_k_multiply(a, b, out, parts, M, N, K, a_stride, b_stride, out_stride, share, BLOCK_M: tl.constexpr,
                      BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):  # fmt: skip
    """parts f32 [programs, 2, BLOCK_M, BLOCK_N]: the part that ends in a program's share, then the one that begins."""
    program = tl.program_id(0)
    steps = tl.cdiv(K, BLOCK_K)
    tiles_n = tl.cdiv(N, BLOCK_N)
    step = program * share
    end = tl.minimum(step + share, steps * tl.cdiv(M, BLOCK_M) * tiles_n)
    place = tl.arange(0, BLOCK_M)[:, None] * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    while step < end:
        tile = step // steps
        first = step % steps
        last = tl.minimum(steps, first + end - step)
        value = multiply_steps(a, b, tile, first, last, M, N, K, a_stride, b_stride, BLOCK_M, BLOCK_N, BLOCK_K)
        if (first == 0) & (last == steps):
            store_tile(out, value, tile // tiles_n * BLOCK_M, tile % tiles_n * BLOCK_N, M, N, out_stride,
                       BLOCK_M, BLOCK_N)  # fmt: skip
        else:
            slot = program * 2 + tl.where(first == 0, 1, 0)
            tl.store(parts + slot.to(tl.int64) * (BLOCK_M * BLOCK_N) + place, value)
        step += last - first


@triton.jit
def stream_k_add(parts, out, M, N, K, out_stride, share, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                 BLOCK_K: tl.constexpr):  # fmt: skip
    """One program a tile: the parts of a tile that several programs have made, in their order."""
    tile = tl.program_id(0)
    steps = tl.cdiv(K, BLOCK_K)
    first = tile * steps // share
    last = (tile * steps + steps - 1) // share
    if first != last:
        tiles_n = tl.cdiv(N, BLOCK_N)
        place = tl.arange(0, BLOCK_M)[:, None] * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
        value = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for program in range(first, last + 1):
            begins = tl.where(program * share <= tile * steps, 1, 0)
            value += tl.load(parts + (program * 2 + begins).to(tl.int64) * (BLOCK_M * BLOCK_N) + place)
        store_tile(out, value, tile // tiles_n * BLOCK_M, tile % tiles_n * BLOCK_N, M, N, out_stride, BLOCK_M, BLOCK_N)
