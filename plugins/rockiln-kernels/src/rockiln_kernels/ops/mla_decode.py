"""q and a cache of latents → multi-head latent attention of each sequence's newest queries, a split a program.

q [B, L, H, 512 + 64], cache [blocks, block_size, 512 + 64]: the latent, which is also the value, then the rotary part.
Any number of heads and of queries: both are rows of one matrix, BLOCK_M of them a program. Masks as in paged_decode.
A program makes VALUE columns of the output. Where the registers hold all 512, a key is read once; elsewhere the columns
are cut into slices, and each slice computes the scores again, CHUNK columns of q and of the keys at a time.
"""

import triton
import triton.language as tl

from rockiln_kernels.ops.paged_decode import load_keys, load_query, store_part
from rockiln_kernels.ops.softmax import LOG2_E, invert_total, log_sum_exp, update_row_state
from rockiln_kernels.ops.split_kv import bound_split, find_tokens


@triton.jit
def mla_decode(q, cache, block_tables, context_lens, cache_scale, parts, logs, scale, queries, heads, block_size,
               table_stride, splits, has_scale, LATENT: tl.constexpr, ROTARY: tl.constexpr, VALUE: tl.constexpr,
               CHUNK: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, FORMAT: tl.constexpr):
    sequence, split = tl.program_id(0), tl.program_id(2)
    slices: tl.constexpr = LATENT // VALUE
    slice_start = tl.program_id(1) % slices * VALUE
    member = tl.program_id(1) // slices * BLOCK_M + tl.arange(0, BLOCK_M)
    is_row = member < queries * heads
    row = sequence.to(tl.int64) * queries * heads + member
    keys = tl.load(context_lens + sequence)
    stored_scale = tl.load(cache_scale, mask=has_scale != 0, other=1.0)
    first, end = bound_split(0, keys, splits, split, BLOCK_N)
    value, maximum, total = attend_latents(
        q, cache, block_tables + sequence.to(tl.int64) * table_stride, row, is_row, keys - queries + member // heads,
        first, end, block_size, scale * LOG2_E * stored_scale, slice_start, LATENT, ROTARY, VALUE, CHUNK, BLOCK_M,
        BLOCK_N, FORMAT)
    value *= (invert_total(total) * stored_scale)[:, None]
    store_part(parts + slice_start, value, row, is_row, splits, split, 0, VALUE, LATENT)
    tl.store(logs + row * splits + split, log_sum_exp(maximum, total), mask=is_row & (slice_start == 0))


@triton.jit
def attend_latents(q, cache, table, row, is_row, last, first, end, block_size, scale, slice_start,
                   LATENT: tl.constexpr, ROTARY: tl.constexpr, VALUE: tl.constexpr, CHUNK: tl.constexpr,
                   BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, FORMAT: tl.constexpr):
    """The rows of one program over the keys first ... end - 1 → (value [BLOCK_M, VALUE], maximum, total)."""
    WIDTH: tl.constexpr = LATENT + ROTARY
    if VALUE == LATENT:
        latent_q = load_query(q, row * WIDTH, is_row, 0, LATENT)
        rotary_q = load_query(q, row * WIDTH, is_row, LATENT, ROTARY)
    value = tl.zeros((BLOCK_M, VALUE), tl.float32)
    maximum = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(first, end, BLOCK_N):
        key = start + tl.arange(0, BLOCK_N)
        token = find_tokens(table, key, end, block_size)
        latent = load_keys(cache + slice_start, token, key < end, WIDTH, 0, VALUE, FORMAT, q.dtype.element_ty)
        if VALUE == LATENT:
            rotary = load_keys(cache, token, key < end, WIDTH, LATENT, ROTARY, FORMAT, q.dtype.element_ty)
            scores = tl.dot(rotary_q, tl.trans(rotary), tl.dot(latent_q, tl.trans(latent)))
        else:
            scores = score_chunks(q, cache, row, is_row, token, key < end, WIDTH, CHUNK, BLOCK_M, BLOCK_N, FORMAT)
        seen = (key[None, :] < end) & (key[None, :] <= last[:, None])
        scores = tl.where(seen, scores * scale, -float("inf"))
        weights, decay, maximum, total = update_row_state(scores, maximum, total)
        value = tl.dot(weights.to(latent.dtype), latent, value * decay[:, None])
    return value, maximum, total


@triton.jit
def score_chunks(q, cache, row, is_row, token, seen, WIDTH: tl.constexpr, CHUNK: tl.constexpr, BLOCK_M: tl.constexpr,
                 BLOCK_N: tl.constexpr, FORMAT: tl.constexpr):
    """[BLOCK_M, BLOCK_N] products of whole rows of q and of the cache, f32, CHUNK columns at a time."""
    scores = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, WIDTH, CHUNK):
        part_q = load_query(q + start, row * WIDTH, is_row, 0, CHUNK)
        part_k = load_keys(cache + start, token, seen, WIDTH, 0, CHUNK, FORMAT, q.dtype.element_ty)
        scores = tl.dot(part_q, tl.trans(part_k), scores)
    return scores
