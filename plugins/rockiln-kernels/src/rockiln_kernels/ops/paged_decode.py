"""q and a KV cache of blocks → attention of each sequence's newest queries, a split of its keys a program.

q [B, L, HQ, D1 + D2]; k_cache, v_cache [blocks, block_size, HK, D1 + D2]; block_tables i32 [B, table_stride];
context_lens i32 [B] counts the keys, the L newest included: query i sees the keys up to keys - L + i, at most
window_left + 1 of them. All queries and heads that share a head of k and v are rows of one program.
"""

import triton
import triton.language as tl

from rockiln_kernels.ops.softmax import LOG2_E, invert_total, log_sum_exp, update_row_state
from rockiln_kernels.ops.split_kv import bound_split, find_tokens
from rockiln_kernels.ops.widen import widen


@triton.jit
def load_query(q, place, seen, START: tl.constexpr, WIDTH: tl.constexpr):
    column = START + tl.arange(0, WIDTH)
    return tl.load(q + place[:, None] + column[None, :], mask=seen[:, None], other=0.0)


@triton.jit
def load_keys(cache, token, seen, stride, START: tl.constexpr, WIDTH: tl.constexpr, FORMAT: tl.constexpr,
              TYPE: tl.constexpr):
    """[BLOCK_N, WIDTH] of the columns from START on, as TYPE; rows that are not seen as zero."""
    column = START + tl.arange(0, WIDTH)
    codes = tl.load(cache + token[:, None] * stride + column[None, :], mask=seen[:, None], other=0.0)
    return widen(codes, FORMAT, TYPE)


@triton.jit
def score_keys(q1, q2, k_cache, token, key, first, end, last, window_left, stride, scale, D1: tl.constexpr,
               D2: tl.constexpr, FORMAT: tl.constexpr):
    """Scores in base 2; -inf for keys that a row's query does not see."""
    seen = key < end
    scores = tl.dot(q1, tl.trans(load_keys(k_cache, token, seen, stride, 0, D1, FORMAT, q1.dtype)))
    if D2 > 0:
        keys = load_keys(k_cache, token, seen, stride, D1, D2, FORMAT, q1.dtype)
        scores = tl.dot(q2, tl.trans(keys), scores)
    distance = last[:, None] - key[None, :]
    inside = seen[None, :] & (distance >= 0) & (distance <= window_left)
    return tl.where(inside, scores * scale, -float("inf"))


@triton.jit
def add_values(value, weights, decay, v_cache, token, seen, stride, START: tl.constexpr, WIDTH: tl.constexpr,
               FORMAT: tl.constexpr, TYPE: tl.constexpr):
    values = load_keys(v_cache, token, seen, stride, START, WIDTH, FORMAT, TYPE)
    return tl.dot(weights.to(TYPE), values, value * decay[:, None])


@triton.jit
def store_part(parts, value, row, rows, splits, split, START: tl.constexpr, WIDTH: tl.constexpr, ALL: tl.constexpr):
    """parts [.., splits, ALL]: the columns from START on of one split of some rows."""
    column = START + tl.arange(0, WIDTH)
    place = (row * splits + split) * ALL
    tl.store(parts + place[:, None] + column[None, :], value, mask=rows[:, None])


@triton.jit
def paged_decode(q, k_cache, v_cache, block_tables, context_lens, k_scale, v_scale, parts, logs, scale, queries,
                 heads_q, heads_k, block_size, table_stride, splits, window_left, has_scales, D1: tl.constexpr,
                 D2: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, FORMAT: tl.constexpr):
    sequence, split = tl.program_id(0), tl.program_id(2)
    group = heads_q // heads_k
    row_blocks = tl.cdiv(queries * group, BLOCK_M)
    head_k = tl.program_id(1) // row_blocks
    member = tl.program_id(1) % row_blocks * BLOCK_M + tl.arange(0, BLOCK_M)
    is_row = member < queries * group
    row = (sequence * queries + member // group).to(tl.int64) * heads_q + head_k * group + member % group
    keys = tl.load(context_lens + sequence)
    scale *= LOG2_E * tl.load(k_scale, mask=has_scales != 0, other=1.0)
    last = keys - queries + member // group
    low = tl.maximum(keys - queries - window_left, 0) // BLOCK_N * BLOCK_N
    first, end = bound_split(low, keys, splits, split, BLOCK_N)
    table = block_tables + sequence.to(tl.int64) * table_stride
    value1, value2, maximum, total = attend_cache(
        q, k_cache, v_cache, table, row * (D1 + D2), is_row, last, first, end, window_left, block_size,
        heads_k * (D1 + D2), head_k * (D1 + D2), scale, D1, D2, BLOCK_M, BLOCK_N, FORMAT)
    share = (invert_total(total) * tl.load(v_scale, mask=has_scales != 0, other=1.0))[:, None]
    store_part(parts, value1 * share, row, is_row, splits, split, 0, D1, D1 + D2)
    if D2 > 0:
        store_part(parts, value2 * share, row, is_row, splits, split, D1, D2, D1 + D2)
    tl.store(logs + row * splits + split, log_sum_exp(maximum, total), mask=is_row)


@triton.jit
def attend_cache(q, k_cache, v_cache, table, place, is_row, last, first, end, window_left, block_size, stride, head,
                 scale, D1: tl.constexpr, D2: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                 FORMAT: tl.constexpr):
    """The rows of one program over the keys first ... end - 1 → (value, its second part, maximum, total)."""
    q1 = load_query(q, place, is_row, 0, D1)
    q2 = q1
    if D2 > 0:
        q2 = load_query(q, place, is_row, D1, D2)
    value1 = tl.zeros((BLOCK_M, D1), tl.float32)
    value2 = tl.zeros((BLOCK_M, D2 if D2 > 0 else 16), tl.float32)
    maximum = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(first, end, BLOCK_N):
        key = start + tl.arange(0, BLOCK_N)
        token = find_tokens(table, key, end, block_size)
        scores = score_keys(q1, q2, k_cache + head, token, key, first, end, last, window_left, stride, scale,
                            D1, D2, FORMAT)
        weights, decay, maximum, total = update_row_state(scores, maximum, total)
        value1 = add_values(value1, weights, decay, v_cache + head, token, key < end, stride, 0, D1, FORMAT, q1.dtype)
        if D2 > 0:
            value2 = add_values(value2, weights, decay, v_cache + head, token, key < end, stride, D1, D2, FORMAT,
                                q1.dtype)
    return value1, value2, maximum, total
