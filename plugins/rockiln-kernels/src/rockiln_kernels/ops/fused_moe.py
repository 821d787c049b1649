"""Tokens x experts' matrices → grouped products: both halves of a mixture of experts, and a token's sum of them.

Slots (token * top + choice) are sorted by expert and padded to blocks of BLOCK_M, as ops/moe_align.py leaves them, so
that a tile has one expert. Each product is stored at its slot's own place: a token's experts are added up afterwards,
in the order of its choices, and nothing depends on timing.
"""

import triton
import triton.language as tl

from rockiln_kernels.ops.tile import load_bias, load_columns


@triton.jit
def point_tokens(a, sorted_slots, first, slots, slots_per_row, stride, columns, BLOCK_M: tl.constexpr):
    """(slots [BLOCK_M], pointers to their rows of a); padding points to the last slot's row."""
    slot = tl.load(sorted_slots + first + tl.arange(0, BLOCK_M))
    row = tl.minimum(slot, slots - 1) // slots_per_row
    return slot, a + row.to(tl.int64)[:, None] * stride + columns[None, :]


@triton.jit
def point_expert(b, expert, first, n, rows, step, stride, columns, BLOCK_N: tl.constexpr):
    """Pointers to BLOCK_N rows, `step` apart, of an expert's matrix of `rows` rows; past row n they repeat the last."""
    row = tl.minimum(first + tl.arange(0, BLOCK_N), n - 1) * step
    start = b + (expert.to(tl.int64) * rows) * stride
    return start + row[:, None].to(tl.int64) * stride + columns[None, :]


@triton.jit
def store_slots(out, value, slot, slots, first_n, n, BLOCK_N: tl.constexpr):
    """Rows of out [slots, n] at their slots; padding has none."""
    column = first_n + tl.arange(0, BLOCK_N)
    place = out + slot.to(tl.int64)[:, None] * n + column[None, :]
    tl.store(place, value.to(out.dtype.element_ty), mask=(slot < slots)[:, None] & (column < n)[None, :])


@triton.jit
def gate_pair(gate, up, alpha, limit, up_offset):
    """gate * sigmoid(alpha * gate) * (up + up_offset); limit > 0 cuts gate from above and up from both sides."""
    cut = limit > 0.0
    gate = tl.where(cut & (gate > limit), limit, gate)
    up = tl.where(cut & (up > limit), limit, up)
    up = tl.where(cut & (up < -limit), -limit, up)
    return gate * tl.sigmoid(alpha * gate) * (up + up_offset)


@triton.jit
def moe_gate_up(a, b, bias, sorted_slots, block_experts, out, N, K, slots, top, a_stride, gate_step, up_start, alpha,
                limit, up_offset, has_bias, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                BLOCK_K: tl.constexpr):  # fmt: skip
    """out [slots, N]: the gated halves of a's rows times an expert's b [2 N, K]."""
    expert = tl.load(block_experts + tl.program_id(0))
    if expert >= 0:
        first_n = tl.program_id(1) * BLOCK_N
        column = tl.arange(0, BLOCK_K)
        slot, left = point_tokens(a, sorted_slots, tl.program_id(0) * BLOCK_M, slots, top, a_stride, column, BLOCK_M)
        gate_rows = point_expert(b, expert, first_n, N, 2 * N, gate_step, K, column, BLOCK_N)
        up_rows = gate_rows + up_start.to(tl.int64) * K
        gate = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        up = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for start in range(0, K, BLOCK_K):
            tokens = load_columns(left + start, column, K - start)
            gate = tl.dot(tokens, tl.trans(load_columns(gate_rows + start, column, K - start)), gate)
            up = tl.dot(tokens, tl.trans(load_columns(up_rows + start, column, K - start)), up)
        own = bias + expert.to(tl.int64) * 2 * N
        gate += load_bias(own, first_n, N, gate_step, has_bias, BLOCK_N)[None, :]
        up += load_bias(own + up_start, first_n, N, gate_step, has_bias, BLOCK_N)[None, :]
        store_slots(out, gate_pair(gate, up, alpha, limit, up_offset), slot, slots, first_n, N, BLOCK_N)


@triton.jit
def moe_down(a, b, bias, sorted_slots, block_experts, weights, out, N, K, slots, has_bias, BLOCK_M: tl.constexpr,
             BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):  # fmt: skip
    """out f32 [slots, N]: a's row of each slot times an expert's b [N, K], plus bias, times the slot's weight."""
    expert = tl.load(block_experts + tl.program_id(0))
    if expert >= 0:
        first_n = tl.program_id(1) * BLOCK_N
        column = tl.arange(0, BLOCK_K)
        slot, left = point_tokens(a, sorted_slots, tl.program_id(0) * BLOCK_M, slots, 1, K, column, BLOCK_M)
        right = point_expert(b, expert, first_n, N, N, 1, K, column, BLOCK_N)
        value = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for start in range(0, K, BLOCK_K):
            tokens = load_columns(left + start, column, K - start)
            value = tl.dot(tokens, tl.trans(load_columns(right + start, column, K - start)), value)
        value += load_bias(bias + expert.to(tl.int64) * N, first_n, N, 1, has_bias, BLOCK_N)[None, :]
        weight = tl.load(weights + slot, mask=slot < slots, other=0.0)
        store_slots(out, value * weight[:, None], slot, slots, first_n, N, BLOCK_N)


@triton.jit
def moe_sum(parts, ids, out, N, top, experts, BLOCK: tl.constexpr):
    """out [M, N]: a token's parts f32 [M * top, N] in the order of its choices; an id that is no expert's has none."""
    token = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for choice in range(top):
        expert = tl.load(ids + token * top + choice)
        is_there = (expert >= 0) & (expert < experts) & (column < N)
        total += tl.load(parts + (token * top + choice) * N + column, mask=is_there, other=0.0)
    tl.store(out + token * N + column, total.to(out.dtype.element_ty), mask=column < N)
