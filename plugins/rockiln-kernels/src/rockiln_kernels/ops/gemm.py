"""a [M, K], b [N, K] → out [M, N] = epilogue(a · bᵀ + bias), one tile a program, accumulated in f32.

K is contiguous in a and b; the row strides are free. swiglu takes b [2N, K]: row gate_step * i is output i's gate, and
the row up_start after it is its up, so that one code serves both orders.
Bitwise deterministic: each output is one sum in one order, whatever the grid.
"""

import triton
import triton.language as tl

from rockiln_kernels.ops.activation import activate, silu
from rockiln_kernels.ops.tile import load_bias, load_columns, place_tile, point_rows, store_tile


@triton.jit
def multiply(a_rows, b_rows, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Pointers to the first columns of BLOCK_M rows of a and BLOCK_N rows of b → their product, f32."""
    column = tl.arange(0, BLOCK_K)
    product = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, k, BLOCK_K):
        left = load_columns(a_rows + start, column, k - start)
        right = load_columns(b_rows + start, column, k - start)
        product = tl.dot(left, tl.trans(right), product, input_precision="ieee")
    return product


@triton.jit
def multiply_pair(a_rows, gate_rows, up_rows, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """As multiply, for two sets of b's rows at once: a is read once."""
    column = tl.arange(0, BLOCK_K)
    gate = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    up = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, k, BLOCK_K):
        left = load_columns(a_rows + start, column, k - start)
        right = load_columns(gate_rows + start, column, k - start)
        gate = tl.dot(left, tl.trans(right), gate, input_precision="ieee")
        right = load_columns(up_rows + start, column, k - start)
        up = tl.dot(left, tl.trans(right), up, input_precision="ieee")
    return gate, up


@triton.jit
def gemm(a, b, bias, out, M, N, K, a_stride, b_stride, out_stride, has_bias, EPILOGUE: tl.constexpr,
         BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):  # fmt: skip
    """One tile of out. EPILOGUE is "none", "silu", "gelu" or "gelu_tanh"."""
    tile_m, tile_n = place_tile(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    first_m, first_n = tile_m * BLOCK_M, tile_n * BLOCK_N
    column = tl.arange(0, BLOCK_K)
    a_rows = point_rows(a, first_m, M, a_stride, column, BLOCK_M)
    b_rows = point_rows(b, first_n, N, b_stride, column, BLOCK_N)
    value = multiply(a_rows, b_rows, K, BLOCK_M, BLOCK_N, BLOCK_K)
    value += load_bias(bias, first_n, N, 1, has_bias, BLOCK_N)[None, :]
    store_tile(out, activate(value, EPILOGUE), first_m, first_n, M, N, out_stride, BLOCK_M, BLOCK_N)


@triton.jit
def gemm_swiglu(a, b, bias, out, M, N, K, a_stride, b_stride, out_stride, has_bias, gate_step, up_start,
                BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                GROUP_M: tl.constexpr):  # fmt: skip
    """One tile of out, N columns wide: silu(gate) * up."""
    tile_m, tile_n = place_tile(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    first_m, first_n = tile_m * BLOCK_M, tile_n * BLOCK_N
    column = tl.arange(0, BLOCK_K)
    a_rows = point_rows(a, first_m, M, a_stride, column, BLOCK_M)
    gate_rows = point_rows(b, first_n, N, b_stride * gate_step, column, BLOCK_N)
    up_rows = gate_rows + up_start.to(tl.int64) * b_stride
    gate, up = multiply_pair(a_rows, gate_rows, up_rows, K, BLOCK_M, BLOCK_N, BLOCK_K)
    gate += load_bias(bias, first_n, N, gate_step, has_bias, BLOCK_N)[None, :]
    up += load_bias(bias + up_start, first_n, N, gate_step, has_bias, BLOCK_N)[None, :]
    store_tile(out, silu(gate) * up, first_m, first_n, M, N, out_stride, BLOCK_M, BLOCK_N)
