"""Gradients of attention_prefill: one kernel a block of queries for dq, one a block of keys for dk and dv.

Layouts and masks are those of ops/attention_prefill.py. The weights are computed again from lse. The first kernel
leaves delta f32 [HQ, TQ], the row sums of out * dout, for the second. Each gradient is one sum in one order, by one
program: no atomics, bitwise deterministic. Sinks count through lse; their own gradient is not computed.
"""

import triton
import triton.language as tl

from rockiln_kernels.ops.attention_prefill import bound_keys, bound_rows, load_rows, store_rows
from rockiln_kernels.ops.softmax import LOG2_E


@triton.jit
def load_parts(base, first, count, stride, W1: tl.constexpr, W2: tl.constexpr, BLOCK: tl.constexpr):
    """Both parts of rows of heads; without a second, W2 is 0, the first comes twice."""
    part1 = load_rows(base, first, count, stride, 0, W1, BLOCK)
    part2 = part1
    if W2 > 0:
        part2 = load_rows(base, first, count, stride, W1, W2, BLOCK)
    return part1, part2


@triton.jit
def multiply_parts(left1, left2, right1, right2, W2: tl.constexpr):
    """left · rightᵀ, summed over both parts."""
    product = tl.dot(left1, tl.trans(right1))
    if W2 > 0:
        product = tl.dot(left2, tl.trans(right2), product)
    return product


@triton.jit
def store_parts(base, part1, part2, first, count, stride, W1: tl.constexpr, W2: tl.constexpr, BLOCK: tl.constexpr):
    store_rows(base, part1, first, count, stride, 0, W1, BLOCK)
    if W2 > 0:
        store_rows(base, part2, first, count, stride, W1, W2, BLOCK)


@triton.jit
def weigh_again(scores, key, low, span, lse):
    """Softmax weights of scores in base 2; 0 for keys that a row does not see, and for rows that see none."""
    distance = (key[None, :] - low[:, None]).to(tl.uint32, bitcast=True)
    seen = distance <= span[:, None].to(tl.uint32, bitcast=True)
    shift = tl.where(lse == -float("inf"), float("inf"), lse * LOG2_E)
    return tl.where(seen, tl.exp2(scores - shift[:, None]), 0.0)


@triton.jit
def find_sequence(starts):
    """(start, length) of this program's sequence."""
    start = tl.load(starts + tl.program_id(2))
    return start, tl.load(starts + tl.program_id(2) + 1) - start


@triton.jit
def attention_dq(q, k, v, out, lse, dout, cu_q, cu_k, dq, delta, scale, heads_q, heads_k, tokens_q, q_stride, k_stride,
                 v_stride, out_stride, dout_stride, window_left, window_right, D1: tl.constexpr, D2: tl.constexpr,
                 V1: tl.constexpr, V2: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):  # fmt: skip
    """One block of queries of one head: dq, and delta."""
    head = tl.program_id(1)
    start_q, queries = find_sequence(cu_q)
    start_k, keys = find_sequence(cu_k)
    first = tl.program_id(0) * BLOCK_M
    if first < queries:
        head_k = head // (heads_q // heads_k)
        q += start_q.to(tl.int64) * q_stride + head * (D1 + D2)
        k += start_k.to(tl.int64) * k_stride + head_k * (D1 + D2)
        v += start_k.to(tl.int64) * v_stride + head_k * (V1 + V2)
        out += start_q.to(tl.int64) * out_stride + head * (V1 + V2)
        dout += start_q.to(tl.int64) * dout_stride + head * (V1 + V2)
        place = head.to(tl.int64) * tokens_q + start_q + first + tl.arange(0, BLOCK_M)
        is_row = first + tl.arange(0, BLOCK_M) < queries
        sums = sum_products(out, dout, first, queries, out_stride, dout_stride, V1, V2, BLOCK_M)
        tl.store(delta + place, sums, mask=is_row)
        own = tl.load(lse + place, mask=is_row, other=-float("inf"))
        dq1, dq2 = add_dq(q, k, v, dout, own, sums, first, queries, keys, scale, q_stride, k_stride, v_stride,
                          dout_stride, window_left, window_right, D1, D2, V1, V2, BLOCK_M, BLOCK_N)  # fmt: skip
        dq += start_q.to(tl.int64) * heads_q * (D1 + D2) + head * (D1 + D2)
        store_parts(dq, dq1 * scale, dq2 * scale, first, queries, heads_q * (D1 + D2), D1, D2, BLOCK_M)


@triton.jit
def sum_products(out, dout, first, queries, out_stride, dout_stride, V1: tl.constexpr, V2: tl.constexpr,
                 BLOCK_M: tl.constexpr):  # fmt: skip
    """[BLOCK_M] f32: sums of out * dout over a row."""
    out1, out2 = load_parts(out, first, queries, out_stride, V1, V2, BLOCK_M)
    dout1, dout2 = load_parts(dout, first, queries, dout_stride, V1, V2, BLOCK_M)
    total = tl.sum(out1.to(tl.float32) * dout1.to(tl.float32), 1)
    if V2 > 0:
        total += tl.sum(out2.to(tl.float32) * dout2.to(tl.float32), 1)
    return total


@triton.jit
def add_dq(q, k, v, dout, lse, delta, first, queries, keys, scale, q_stride, k_stride, v_stride, dout_stride,
           window_left, window_right, D1: tl.constexpr, D2: tl.constexpr, V1: tl.constexpr, V2: tl.constexpr,
           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):  # fmt: skip
    """Both parts of dq / scale, f32, over all keys that the block sees."""
    q1, q2 = load_parts(q, first, queries, q_stride, D1, D2, BLOCK_M)
    dout1, dout2 = load_parts(dout, first, queries, dout_stride, V1, V2, BLOCK_M)
    dq1 = tl.zeros((BLOCK_M, D1), tl.float32)
    dq2 = tl.zeros((BLOCK_M, D2 if D2 > 0 else 16), tl.float32)
    low, span = bound_rows(first + tl.arange(0, BLOCK_M), keys - queries, keys, window_left, window_right)
    start_key, end_key = bound_keys(first, keys - queries, keys, window_left, window_right, BLOCK_M, BLOCK_N)
    for start in range(start_key, end_key, BLOCK_N):
        k1, k2 = load_parts(k, start, keys, k_stride, D1, D2, BLOCK_N)
        v1, v2 = load_parts(v, start, keys, v_stride, V1, V2, BLOCK_N)
        scores = multiply_parts(q1, q2, k1, k2, D2) * (scale * LOG2_E)
        weights = weigh_again(scores, start + tl.arange(0, BLOCK_N), low, span, lse)
        slope = (weights * (multiply_parts(dout1, dout2, v1, v2, V2) - delta[:, None])).to(k1.dtype)
        dq1 = tl.dot(slope, k1, dq1)
        if D2 > 0:
            dq2 = tl.dot(slope, k2, dq2)
    return dq1, dq2


@triton.jit
def attention_dkdv(q, k, v, lse, dout, cu_q, cu_k, delta, dk, dv, scale, heads_q, heads_k, tokens_q, q_stride,
                   k_stride, v_stride, dout_stride, window_left, window_right, D1: tl.constexpr, D2: tl.constexpr,
                   V1: tl.constexpr, V2: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):  # fmt: skip
    """One block of keys of one head: dk and dv, over all heads of q that share it."""
    head_k = tl.program_id(1)
    start_q, queries = find_sequence(cu_q)
    start_k, keys = find_sequence(cu_k)
    first = tl.program_id(0) * BLOCK_N
    if first < keys:
        group = heads_q // heads_k
        k += start_k.to(tl.int64) * k_stride + head_k * (D1 + D2)
        v += start_k.to(tl.int64) * v_stride + head_k * (V1 + V2)
        q += start_q.to(tl.int64) * q_stride + head_k * group * (D1 + D2)
        dout += start_q.to(tl.int64) * dout_stride + head_k * group * (V1 + V2)
        rows = (head_k * group).to(tl.int64) * tokens_q + start_q
        dk1, dk2, dv1, dv2 = add_dkdv(
            q, k, v, lse + rows, dout, delta + rows, first, queries, keys, scale, group, tokens_q, q_stride, k_stride,
            v_stride, dout_stride, window_left, window_right, D1, D2, V1, V2, BLOCK_M, BLOCK_N)  # fmt: skip
        dk += start_k.to(tl.int64) * heads_k * (D1 + D2) + head_k * (D1 + D2)
        dv += start_k.to(tl.int64) * heads_k * (V1 + V2) + head_k * (V1 + V2)
        store_parts(dk, dk1 * scale, dk2 * scale, first, keys, heads_k * (D1 + D2), D1, D2, BLOCK_N)
        store_parts(dv, dv1, dv2, first, keys, heads_k * (V1 + V2), V1, V2, BLOCK_N)


@triton.jit
def add_dkdv(q, k, v, lse, dout, delta, first, queries, keys, scale, group, tokens_q, q_stride, k_stride, v_stride,
             dout_stride, window_left, window_right, D1: tl.constexpr, D2: tl.constexpr, V1: tl.constexpr,
             V2: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):  # fmt: skip
    """Both parts of dk / scale and of dv, f32: heads in order, and in each the queries that see the block, in order."""
    k1, k2 = load_parts(k, first, keys, k_stride, D1, D2, BLOCK_N)
    v1, v2 = load_parts(v, first, keys, v_stride, V1, V2, BLOCK_N)
    dk1, dv1 = tl.zeros((BLOCK_N, D1), tl.float32), tl.zeros((BLOCK_N, V1), tl.float32)
    dk2 = tl.zeros((BLOCK_N, D2 if D2 > 0 else 16), tl.float32)
    dv2 = tl.zeros((BLOCK_N, V2 if V2 > 0 else 16), tl.float32)
    key = first + tl.arange(0, BLOCK_N)
    shift = keys - queries
    low_row = tl.maximum(first - shift - window_right, 0) // BLOCK_M * BLOCK_M
    end_row = tl.minimum(first + BLOCK_N - shift + window_left, queries)
    for member in range(group):
        for start in range(low_row, end_row, BLOCK_M):
            q1, q2 = load_parts(q + member * (D1 + D2), start, queries, q_stride, D1, D2, BLOCK_M)
            dout1, dout2 = load_parts(dout + member * (V1 + V2), start, queries, dout_stride, V1, V2, BLOCK_M)
            row = start + tl.arange(0, BLOCK_M)
            place = member.to(tl.int64) * tokens_q + row
            own = tl.load(lse + place, mask=row < queries, other=-float("inf"))
            low, span = bound_rows(row, shift, keys, window_left, window_right)
            scores = multiply_parts(q1, q2, k1, k2, D2) * (scale * LOG2_E)
            weights = weigh_again(scores, key, low, span, own)
            sums = tl.load(delta + place, mask=row < queries, other=0.0)
            slope = (weights * (multiply_parts(dout1, dout2, v1, v2, V2) - sums[:, None])).to(q1.dtype)
            weights = tl.trans(weights.to(dout1.dtype))
            dv1 = tl.dot(weights, dout1, dv1)
            dk1 = tl.dot(tl.trans(slope), q1, dk1)
            if V2 > 0:
                dv2 = tl.dot(weights, dout2, dv2)
            if D2 > 0:
                dk2 = tl.dot(tl.trans(slope), q2, dk2)
    return dk1, dk2, dv1, dv2
