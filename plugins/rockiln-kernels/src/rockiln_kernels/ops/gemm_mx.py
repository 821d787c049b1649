"""MX matrices (e2m1 or e4m3 codes with an e8m0 scale for 32 of them) → out = epilogue(a · bᵀ + bias), a tile a program.

a [M, K] is MX too, or bf16; b [N, K] is MX. Scales lie [rows, K / 32], two e2m1 codes a byte, the first in the low
half. With SCALED the scaled matrix instruction reads codes and scales; without, both are decoded to bf16, which holds
them exactly, in registers. Layout, swiglu and determinism are those of ops/gemm.py.
"""

import triton
import triton.language as tl

from rockiln_kernels.ops.activation import activate, silu
from rockiln_kernels.ops.tile import load_bias, load_columns, place_tile, point_rows, store_tile
from rockiln_kernels.ops.widen import decode_e2m1, scale_blocks, widen


@triton.jit
def point_codes(codes, scales, first, rows, stride, k, FORMAT: tl.constexpr, ROWS: tl.constexpr, BLOCK_K: tl.constexpr):
    """(pointers to ROWS rows of codes, pointers to their scales)."""
    PACKED: tl.constexpr = 2 if FORMAT == "e2m1" else 1
    code = point_rows(codes, first, rows, stride, tl.arange(0, BLOCK_K // PACKED), ROWS)
    return code, point_rows(scales, first, rows, k // 32, tl.arange(0, BLOCK_K // 32), ROWS)


@triton.jit
def load_mx(codes, scales, start, k, FORMAT: tl.constexpr, BLOCK_K: tl.constexpr):
    """(codes, scales) of BLOCK_K columns from `start` on; zeros past k."""
    PACKED: tl.constexpr = 2 if FORMAT == "e2m1" else 1
    value = load_columns(codes + start // PACKED, tl.arange(0, BLOCK_K // PACKED), (k - start) // PACKED)
    return value, load_columns(scales + start // 32, tl.arange(0, BLOCK_K // 32), (k - start) // 32)


@triton.jit
def decode_mx(value, scale, FORMAT: tl.constexpr, ROWS: tl.constexpr, BLOCK_K: tl.constexpr):
    """bf16 [ROWS, BLOCK_K]."""
    if FORMAT == "e2m1":
        result = decode_e2m1(value, ROWS, BLOCK_K)
    else:
        result = widen(value, FORMAT, tl.bfloat16)
    return scale_blocks(result, scale, ROWS, BLOCK_K)


@triton.jit
def multiply_mx(a, a_scale, b, b_scale, k, A_FORMAT: tl.constexpr, B_FORMAT: tl.constexpr, SCALED: tl.constexpr,
                BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):  # fmt: skip
    """Pointers to rows of codes and of scales → their product, f32."""
    product = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, k, BLOCK_K):
        right, right_scale = load_mx(b, b_scale, start, k, B_FORMAT, BLOCK_K)
        if A_FORMAT == "bf16":
            left = load_columns(a + start, tl.arange(0, BLOCK_K), k - start)
        else:
            left, left_scale = load_mx(a, a_scale, start, k, A_FORMAT, BLOCK_K)
        if SCALED:
            product = tl.dot_scaled(left, left_scale, A_FORMAT, tl.trans(right), right_scale, B_FORMAT, product)
        else:
            if A_FORMAT != "bf16":
                left = decode_mx(left, left_scale, A_FORMAT, BLOCK_M, BLOCK_K)
            product = tl.dot(left, tl.trans(decode_mx(right, right_scale, B_FORMAT, BLOCK_N, BLOCK_K)), product)
    return product


@triton.jit
def gemm_mx(a, b, a_scale, b_scale, bias, out, M, N, K, a_stride, b_stride, out_stride, has_bias, gate_step, up_start,
            EPILOGUE: tl.constexpr, A_FORMAT: tl.constexpr, B_FORMAT: tl.constexpr, SCALED: tl.constexpr,
            BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
            GROUP_M: tl.constexpr):  # fmt: skip
    """One tile of out. With EPILOGUE "swiglu" N is out's width, and b has gate and up as in ops/gemm.py."""
    tile_m, tile_n = place_tile(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    first_m, first_n = tile_m * BLOCK_M, tile_n * BLOCK_N
    left, left_scale = point_codes(a, a_scale, first_m, M, a_stride, K, A_FORMAT, BLOCK_M, BLOCK_K)
    right, right_scale = point_codes(b, b_scale, first_n, N, b_stride * gate_step, K * gate_step, B_FORMAT, BLOCK_N,
                                     BLOCK_K)  # fmt: skip
    value = multiply_mx(left, left_scale, right, right_scale, K, A_FORMAT, B_FORMAT, SCALED, BLOCK_M, BLOCK_N, BLOCK_K)
    value += load_bias(bias, first_n, N, gate_step, has_bias, BLOCK_N)[None, :]
    if EPILOGUE == "swiglu":
        right += up_start.to(tl.int64) * b_stride
        right_scale += up_start.to(tl.int64) * (K // 32)
        up = multiply_mx(left, left_scale, right, right_scale, K, A_FORMAT, B_FORMAT, SCALED, BLOCK_M, BLOCK_N, BLOCK_K)
        up += load_bias(bias + up_start, first_n, N, gate_step, has_bias, BLOCK_N)[None, :]
        value = silu(value) * up
    else:
        value = activate(value, EPILOGUE)
    store_tile(out, value, first_m, first_n, M, N, out_stride, BLOCK_M, BLOCK_N)
