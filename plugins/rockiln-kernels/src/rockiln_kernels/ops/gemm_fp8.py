"""fp8 a [M, K] and b [N, K] with scales → out = epilogue(scaled a · bᵀ + bias), one tile a program.

Scales are one a tensor, one a row, or one a block of 128: of a's rows (a_scale [M, K / 128]) and of 128 x 128 values of
b (b_scale [N / 128, K / 128]). Where the arch multiplies no fp8, FORMAT says how bytes are widened to f16, exactly.
Layout, strides, swiglu and determinism are those of ops/gemm.py.
"""

import triton
import triton.language as tl

from rockiln_kernels.ops.activation import activate, silu
from rockiln_kernels.ops.tile import load_bias, load_columns, place_tile, point_rows, store_tile
from rockiln_kernels.ops.widen import widen


@triton.jit
def load_codes(rows, start, column, k, FORMAT: tl.constexpr):
    """BLOCK_K columns as fp8, or widened to f16; zero past k. Zero bytes are zero in every format."""
    codes = load_columns(rows + start, column, k - start)
    if FORMAT != "":
        codes = widen(codes, FORMAT, tl.float16)
    return codes


@triton.jit
def multiply_fp8(a_rows, b_rows, a_scales, b_scales, k, BLOCKED: tl.constexpr, FORMAT: tl.constexpr,
                 BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):  # fmt: skip
    """The product in f32; with BLOCKED each step of BLOCK_K (which divides 128) is scaled as it is added."""
    column = tl.arange(0, BLOCK_K)
    product = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, k, BLOCK_K):
        left = load_codes(a_rows, start, column, k, FORMAT)
        right = load_codes(b_rows, start, column, k, FORMAT)
        if BLOCKED:
            scale = tl.load(a_scales + start // 128)[:, None] * tl.load(b_scales + start // 128)[None, :]
            product += tl.dot(left, tl.trans(right)) * scale
        else:
            product = tl.dot(left, tl.trans(right), product)
    if not BLOCKED:
        product *= tl.load(a_scales)[:, None] * tl.load(b_scales)[None, :]
    return product


@triton.jit
def point_scales(scales, first, rows, share, stride, BLOCK: tl.constexpr):
    """Pointers to the scales of BLOCK rows, `share` rows having one; past the end the last row's."""
    row = tl.minimum(first + tl.arange(0, BLOCK), rows - 1)
    return scales + (row // share).to(tl.int64) * stride


@triton.jit
def gemm_fp8(a, b, a_scale, b_scale, bias, out, M, N, K, a_stride, b_stride, out_stride, a_scale_stride,
             b_scale_stride, b_scale_rows, has_bias, gate_step, up_start, EPILOGUE: tl.constexpr,
             BLOCKED: tl.constexpr, FORMAT: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
             BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):  # fmt: skip
    """One tile of out. With EPILOGUE "swiglu" N is out's width, and b has gate and up as in ops/gemm.py."""
    tile_m, tile_n = place_tile(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    first_m, first_n = tile_m * BLOCK_M, tile_n * BLOCK_N
    column = tl.arange(0, BLOCK_K)
    left = point_rows(a, first_m, M, a_stride, column, BLOCK_M)
    right = point_rows(b, first_n, N, b_stride * gate_step, column, BLOCK_N)
    left_scale = point_scales(a_scale, first_m, M, 1, a_scale_stride, BLOCK_M)
    row = tl.minimum(first_n + tl.arange(0, BLOCK_N), N - 1) * gate_step
    right_scale = b_scale + (row // b_scale_rows) * b_scale_stride
    value = multiply_fp8(left, right, left_scale, right_scale, K, BLOCKED, FORMAT, BLOCK_M, BLOCK_N, BLOCK_K)
    value += load_bias(bias, first_n, N, gate_step, has_bias, BLOCK_N)[None, :]
    if EPILOGUE == "swiglu":
        right += up_start.to(tl.int64) * b_stride
        right_scale = b_scale + ((row + up_start) // b_scale_rows) * b_scale_stride
        up = multiply_fp8(left, right, left_scale, right_scale, K, BLOCKED, FORMAT, BLOCK_M, BLOCK_N, BLOCK_K)
        up += load_bias(bias + up_start, first_n, N, gate_step, has_bias, BLOCK_N)[None, :]
        value = silu(value) * up
    else:
        value = activate(value, EPILOGUE)
    store_tile(out, value, first_m, first_n, M, N, out_stride, BLOCK_M, BLOCK_N)
