"""Grouped products of ops/fused_moe.py with narrow weights: MXFP4 or fp8, widened to the tokens' type in registers.

FORMAT "e2m1" is MXFP4 with e8m0 scales [experts, rows, K / 32]. Else weights are fp8 with f32 scales of blocks of
128 x 128, [experts, rows / 128, K / 128]; "e4m3" are plain bytes, "" have a type that the arch converts itself.
"""

import triton
import triton.language as tl

from rockiln_kernels.ops.fused_moe import gate_pair, point_expert, point_tokens, store_slots
from rockiln_kernels.ops.tile import load_bias, load_columns
from rockiln_kernels.ops.widen import decode_e2m1, scale_blocks, widen


@triton.jit
def point_narrow(b, scales, expert, first, n, rows, step, shift, K, FORMAT: tl.constexpr, BLOCK_N: tl.constexpr,
                 BLOCK_K: tl.constexpr):  # fmt: skip
    """(pointers to the codes of BLOCK_N rows, pointers to their scales): rows first * step + shift, `step` apart."""
    if FORMAT == "e2m1":
        codes = point_expert(b, expert, first, n, rows, step, K // 2, tl.arange(0, BLOCK_K // 2), BLOCK_N)
        scale = point_expert(scales, expert, first, n, rows, step, K // 32, tl.arange(0, BLOCK_K // 32), BLOCK_N)
        codes += shift.to(tl.int64) * (K // 2)
        scale += shift.to(tl.int64) * (K // 32)
    else:
        codes = point_expert(b, expert, first, n, rows, step, K, tl.arange(0, BLOCK_K), BLOCK_N)
        codes += shift.to(tl.int64) * K
        row = (tl.minimum(first + tl.arange(0, BLOCK_N), n - 1) * step + shift) // 128
        scale = scales + (expert.to(tl.int64) * tl.cdiv(rows, 128) + row) * tl.cdiv(K, 128)
    return codes, scale


@triton.jit
def multiply_narrow(left, codes, scales, K, FORMAT: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                    BLOCK_K: tl.constexpr):  # fmt: skip
    """Pointers to rows of tokens, of codes and of scales → their product, f32."""
    column = tl.arange(0, BLOCK_K)
    product = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        tokens = load_columns(left + start, column, K - start)
        if FORMAT == "e2m1":
            value = load_columns(codes + start // 2, tl.arange(0, BLOCK_K // 2), (K - start) // 2)
            scale = load_columns(scales + start // 32, tl.arange(0, BLOCK_K // 32), (K - start) // 32)
            weights = scale_blocks(decode_e2m1(value, BLOCK_N, BLOCK_K), scale, BLOCK_N, BLOCK_K)
            product = tl.dot(tokens, tl.trans(weights.to(tokens.dtype)), product)
        else:
            weights = widen(load_columns(codes + start, column, K - start), FORMAT, tokens.dtype)
            product += tl.dot(tokens, tl.trans(weights)) * tl.load(scales + start // 128)[None, :]
    return product


@triton.jit
def moe_narrow_gate_up(a, b, scales, bias, sorted_slots, block_experts, out, N, K, slots, top, a_stride, gate_step,
                       up_start, alpha, limit, up_offset, has_bias, FORMAT: tl.constexpr, BLOCK_M: tl.constexpr,
                       BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):  # fmt: skip
    """out [slots, N]: the gated halves of a's rows times an expert's b [2 N, K]."""
    expert = tl.load(block_experts + tl.program_id(0))
    if expert >= 0:
        first_n = tl.program_id(1) * BLOCK_N
        column = tl.arange(0, BLOCK_K)
        slot, left = point_tokens(a, sorted_slots, tl.program_id(0) * BLOCK_M, slots, top, a_stride, column, BLOCK_M)
        codes, scale = point_narrow(b, scales, expert, first_n, N, 2 * N, gate_step, up_start * 0, K, FORMAT, BLOCK_N,
                                    BLOCK_K)  # fmt: skip
        gate = multiply_narrow(left, codes, scale, K, FORMAT, BLOCK_M, BLOCK_N, BLOCK_K)
        codes, scale = point_narrow(b, scales, expert, first_n, N, 2 * N, gate_step, up_start, K, FORMAT, BLOCK_N,
                                    BLOCK_K)  # fmt: skip
        up = multiply_narrow(left, codes, scale, K, FORMAT, BLOCK_M, BLOCK_N, BLOCK_K)
        own = bias + expert.to(tl.int64) * 2 * N
        gate += load_bias(own, first_n, N, gate_step, has_bias, BLOCK_N)[None, :]
        up += load_bias(own + up_start, first_n, N, gate_step, has_bias, BLOCK_N)[None, :]
        store_slots(out, gate_pair(gate, up, alpha, limit, up_offset), slot, slots, first_n, N, BLOCK_N)


@triton.jit
def moe_narrow_down(a, b, scales, bias, sorted_slots, block_experts, weights, out, N, K, slots, has_bias,
                    FORMAT: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                    BLOCK_K: tl.constexpr):  # fmt: skip
    """out f32 [slots, N]: a's row of each slot times an expert's b [N, K], plus bias, times the slot's weight."""
    expert = tl.load(block_experts + tl.program_id(0))
    if expert >= 0:
        first_n = tl.program_id(1) * BLOCK_N
        column = tl.arange(0, BLOCK_K)
        slot, left = point_tokens(a, sorted_slots, tl.program_id(0) * BLOCK_M, slots, 1, K, column, BLOCK_M)
        codes, scale = point_narrow(b, scales, expert, first_n, N, N, 1, N * 0, K, FORMAT, BLOCK_N, BLOCK_K)
        value = multiply_narrow(left, codes, scale, K, FORMAT, BLOCK_M, BLOCK_N, BLOCK_K)
        value += load_bias(bias + expert.to(tl.int64) * N, first_n, N, 1, has_bias, BLOCK_N)[None, :]
        weight = tl.load(weights + slot, mask=slot < slots, other=0.0)
        store_slots(out, value * weight[:, None], slot, slots, first_n, N, BLOCK_N)
