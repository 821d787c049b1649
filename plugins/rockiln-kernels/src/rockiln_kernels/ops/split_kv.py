"""Attention of few queries over many keys, the keys split among programs: what paged and MLA decode share.

Each split writes an output of its own, normalised, and its log-sum-exp; merge_splits then adds the splits up in order,
so the result does not depend on which split finished first.
"""

import triton
import triton.language as tl

from rockiln_kernels.ops.softmax import LN_2, LOG2_E


@triton.jit
def bound_split(low, keys, splits, split, BLOCK_N: tl.constexpr):
    """First key and end of one split of the keys low ... keys - 1; each split but the last is whole blocks."""
    share = tl.cdiv(tl.cdiv(keys - low, splits), BLOCK_N) * BLOCK_N
    first = low + split * share
    return first, tl.minimum(first + share, keys)


@triton.jit
def find_tokens(table, key, end, block_size):
    """Positions of keys in a cache of blocks, i64, through one sequence's row of the block table; 0 past the end."""
    block = tl.load(table + key // block_size, mask=key < end, other=0).to(tl.int64)
    return block * block_size + key % block_size


@triton.jit
def merge_splits(parts, logs, sinks, out, lse, splits, heads, has_sinks, WIDTH: tl.constexpr,
                 BLOCK: tl.constexpr):  # fmt: skip
    """parts f32 [rows, splits, WIDTH], logs f32 [rows, splits] → out [rows, WIDTH], lse f32 [rows]; a row a program.

    A row is a query's head: row % heads is its head. A sink is one more key, without a value. No keys: 0 and -inf.
    """
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    sink = tl.load(sinks + row % heads, mask=has_sinks != 0, other=-float("inf")).to(tl.float32)
    highest = sink
    for split in range(splits):
        highest = tl.maximum(highest, tl.load(logs + row * splits + split))
    shift = tl.where(highest == -float("inf"), 0.0, highest)
    total = tl.exp2((sink - shift) * LOG2_E)
    value = tl.zeros((BLOCK,), tl.float32)
    for split in range(splits):
        log = tl.load(logs + row * splits + split)
        share = tl.exp2((log - shift) * LOG2_E)
        part = tl.load(parts + (row * splits + split) * WIDTH + column, mask=column < WIDTH, other=0.0)
        value += part * share
        total += share
    value = value * tl.where(total == 0.0, 0.0, 1.0 / total)
    tl.store(out + row * WIDTH + column, value.to(out.dtype.element_ty), mask=column < WIDTH)
    tl.store(lse + row, tl.where(total == 0.0, -float("inf"), shift + tl.log2(total) * LN_2))
