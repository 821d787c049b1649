"""q, k, v of packed sequences → out and log-sum-exp: softmax(scale · q · kᵀ) · v, a block of queries a program.

q [Tq, HQ, D1 + D2], k [Tk, HK, D1 + D2], v [Tk, HK, V1 + V2], out [Tq, HQ, V1 + V2], lse f32 [HQ, Tq]; heads are
contiguous, the strides between tokens are free. Queries stand at the end of their keys (bottom-right aligned): query i
sees key j if -window_left <= j - i - (Lk - Lq) <= window_right. Causal is window_right = 0.
A row that sees no key gives zeros, and -inf as its log-sum-exp. Bitwise deterministic: keys are taken in one order.
"""

import triton
import triton.language as tl

from rockiln_kernels.ops.softmax import LOG2_E, invert_total, log_sum_exp, start_row_state, update_row_state


@triton.jit
def load_rows(base, first, count, stride, START: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """[BLOCK, WIDTH] of the columns from START on; rows at or past `count` as zero."""
    row = tl.arange(0, BLOCK)
    column = START + tl.arange(0, WIDTH)
    start = base + first.to(tl.int64) * stride
    return tl.load(start + row[:, None] * stride + column[None, :], mask=row[:, None] < count - first, other=0.0)


@triton.jit
def repeat_last(base, first, count, stride, START: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """As load_rows, but rows past the end repeat the last one: for rows whose results nobody uses."""
    row = tl.minimum(tl.arange(0, BLOCK), count - 1 - first)
    column = START + tl.arange(0, WIDTH)
    return tl.load(base + first.to(tl.int64) * stride + row[:, None] * stride + column[None, :])


@triton.jit
def store_rows(base, value, first, count, stride, START: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.arange(0, BLOCK)
    column = START + tl.arange(0, WIDTH)
    start = base + first.to(tl.int64) * stride
    tl.store(start + row[:, None] * stride + column[None, :], value.to(base.dtype.element_ty),
             mask=row[:, None] < count - first)


@triton.jit
def bound_rows(row, shift, keys, window_left, window_right):
    """(first key, number of keys after it) that each row sees; a row that sees none gets a first key out of reach."""
    low = tl.maximum(row + shift - window_left, 0)
    high = tl.minimum(row + shift + window_right, keys - 1)
    return tl.where(high < low, 1 << 30, low), tl.maximum(high - low, 0)


@triton.jit
def hide_keys(scores, key, low, span):
    """-inf for keys outside of low ... low + span of their row: one unsigned comparison for both ends."""
    distance = (key[None, :] - low[:, None]).to(tl.uint32, bitcast=True)
    return tl.where(distance <= span[:, None].to(tl.uint32, bitcast=True), scores, -float("inf"))


@triton.jit
def bound_keys(first, shift, keys, window_left, window_right, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """First and end of the keys that any of BLOCK_M queries can see; the first is a multiple of BLOCK_N."""
    low = tl.maximum(first + shift - window_left, 0) // BLOCK_N * BLOCK_N
    return low, tl.minimum(first + BLOCK_M - 1 + shift + window_right + 1, keys)


@triton.jit
def attention_prefill(q, k, v, sinks, cu_q, cu_k, out, lse, scale, heads_q, heads_k, tokens_q, q_stride, k_stride,
                      v_stride, out_stride, window_left, window_right, has_sinks, D1: tl.constexpr, D2: tl.constexpr,
                      V1: tl.constexpr, V2: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    head = tl.program_id(1)
    start_q = tl.load(cu_q + tl.program_id(2))
    start_k = tl.load(cu_k + tl.program_id(2))
    queries = tl.load(cu_q + tl.program_id(2) + 1) - start_q
    keys = tl.load(cu_k + tl.program_id(2) + 1) - start_k
    first = tl.program_id(0) * BLOCK_M
    if first < queries:
        head_k = head // (heads_q // heads_k)
        q += start_q.to(tl.int64) * q_stride + head * (D1 + D2)
        k += start_k.to(tl.int64) * k_stride + head_k * (D1 + D2)
        v += start_k.to(tl.int64) * v_stride + head_k * (V1 + V2)
        row = first + tl.arange(0, BLOCK_M)
        maximum, total = start_row_state(sinks, head, has_sinks, BLOCK_M)
        out1, out2, maximum, total = attend(
            q, k, v, first, queries, keys, scale * LOG2_E, maximum, total, q_stride, k_stride, v_stride,
            window_left, window_right, D1, D2, V1, V2, BLOCK_M, BLOCK_N)
        out += start_q.to(tl.int64) * out_stride + head * (V1 + V2)
        share = invert_total(total)[:, None]
        store_rows(out, out1 * share, first, queries, out_stride, 0, V1, BLOCK_M)
        if V2 > 0:
            store_rows(out, out2 * share, first, queries, out_stride, V1, V2, BLOCK_M)
        tl.store(lse + head.to(tl.int64) * tokens_q + start_q + row, log_sum_exp(maximum, total), mask=row < queries)


@triton.jit
def attend(q, k, v, first, queries, keys, scale, maximum, total, q_stride, k_stride, v_stride,
           window_left, window_right, D1: tl.constexpr, D2: tl.constexpr, V1: tl.constexpr, V2: tl.constexpr,
           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """One block of queries over all keys it can see → (out [.., V1], out [.., V2], maximum, total), not yet divided.

    A head whose width is no power of two is two parts (80 = 64 + 16, 192 = 128 + 64); without a second, V2 is 0.
    """
    SECOND: tl.constexpr = V2 if V2 > 0 else 16
    shift = keys - queries
    q1 = repeat_last(q, first, queries, q_stride, 0, D1, BLOCK_M)
    if D2 > 0:
        q2 = repeat_last(q, first, queries, q_stride, D1, D2, BLOCK_M)
    out1 = tl.zeros((BLOCK_M, V1), tl.float32)
    out2 = tl.zeros((BLOCK_M, SECOND), tl.float32)
    low, span = bound_rows(first + tl.arange(0, BLOCK_M), shift, keys, window_left, window_right)
    start_key, end_key = bound_keys(first, shift, keys, window_left, window_right, BLOCK_M, BLOCK_N)
    for start in range(start_key, end_key, BLOCK_N):
        scores = tl.dot(q1, tl.trans(repeat_last(k, start, keys, k_stride, 0, D1, BLOCK_N)))
        if D2 > 0:
            scores = tl.dot(q2, tl.trans(repeat_last(k, start, keys, k_stride, D1, D2, BLOCK_N)), scores)
        scores = hide_keys(scores * scale, start + tl.arange(0, BLOCK_N), low, span)
        weights, decay, maximum, total = update_row_state(scores, maximum, total)
        weights = weights.to(v.dtype.element_ty)
        out1 = tl.dot(weights, load_rows(v, start, keys, v_stride, 0, V1, BLOCK_N), out1 * decay[:, None])
        if V2 > 0:
            out2 = tl.dot(weights, load_rows(v, start, keys, v_stride, V1, V2, BLOCK_N), out2 * decay[:, None])
    return out1, out2, maximum, total
