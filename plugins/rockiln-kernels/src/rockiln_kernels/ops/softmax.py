"""Scores of a block of keys → the running maximum, sum and output of an online softmax, in base 2.

A row that has seen no key has maximum -inf and sum 0; nothing here makes NaN of it.
"""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)
LN_2 = tl.constexpr(0.6931471805599453)


@triton.jit
def start_row_state(sinks, heads, has_sinks, BLOCK: tl.constexpr):
    """(maximum, sum), each [BLOCK] f32. A sink is one more key with a logit of its own and no value."""
    sink = tl.load(sinks + heads, mask=(heads >= 0) & (has_sinks != 0), other=-float("inf")).to(tl.float32)
    maximum = sink * LOG2_E + tl.zeros((BLOCK,), tl.float32)
    return maximum, tl.where(maximum == -float("inf"), 0.0, 1.0)


@triton.jit
def update_row_state(scores, maximum, total):
    """scores [R, N] in base 2, hidden keys -inf → (weights [R, N], decay of what came before [R], maximum, total)."""
    highest = tl.maximum(maximum, tl.max(scores, 1))
    shift = tl.where(highest == -float("inf"), 0.0, highest)
    weights = tl.exp2(scores - shift[:, None])
    decay = tl.exp2(maximum - shift)
    return weights, decay, highest, total * decay + tl.sum(weights, 1)


@triton.jit
def invert_total(total):
    """1 / total, and 0 for a row that saw no key."""
    return tl.where(total == 0.0, 0.0, 1.0 / total)


@triton.jit
def log_sum_exp(maximum, total):
    """Natural logarithm of the sum of exponentials; -inf for a row that saw no key."""
    return tl.where(total == 0.0, -float("inf"), (maximum + tl.log2(total)) * LN_2)
