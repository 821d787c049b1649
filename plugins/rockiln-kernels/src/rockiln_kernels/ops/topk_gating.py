"""Router logits of a token → its top-k experts and their weights; one program a token.

Experts are chosen by integers that keep the order of floats, NaN last: choices are distinct and valid whatever the
logits are, and ties go to the lower expert.
"""

import triton
import triton.language as tl

LAST = tl.constexpr(-2147483648)  # below every key: taken already, or not to be chosen


@triton.jit
def order_key(value):
    """f32 → i32 in the same order; -0 as 0, and NaN below -inf."""
    bits = (value + 0.0).to(tl.int32, bitcast=True)
    key = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    return tl.where(value == value, key, -2147483647)  # noqa: PLR0124  # only a NaN differs from itself


@triton.jit
def take_best(keys):
    """(place of the largest key, the lowest of equals; keys without it)."""
    _, best = tl.max(keys, axis=0, return_indices=True, return_indices_tie_break_left=True)
    place = tl.arange(0, keys.shape[0])
    return best, tl.where(place == best, LAST, keys)


@triton.jit
def pick(values, place):
    """The value at `place`, without indexing."""
    return tl.sum(tl.where(tl.arange(0, values.shape[0]) == place, values, 0.0), axis=0)


@triton.jit
def store_choices(scores, keys, weights, ids, top, scaling, renormalise, BLOCK_TOP: tl.constexpr):
    """The top largest keys' places as ids, and their scores as weights: divided by their sum if asked, then scaled."""
    slot = tl.arange(0, BLOCK_TOP)
    chosen = tl.zeros((BLOCK_TOP,), tl.float32)
    experts = tl.zeros((BLOCK_TOP,), tl.int32)
    for number in range(top):
        best, keys = take_best(keys)
        chosen = tl.where(slot == number, pick(scores, best), chosen)
        experts = tl.where(slot == number, best, experts)
    total = tl.where(renormalise != 0, tl.sum(chosen, axis=0), 1.0)
    tl.store(weights + slot, chosen / total * scaling, mask=slot < top)
    tl.store(ids + slot, experts, mask=slot < top)


@triton.jit
def topk_softmax(logits, weights, ids, logits_stride, E, top, scaling, renormalise, BLOCK_TOP: tl.constexpr,
                 BLOCK: tl.constexpr):  # fmt: skip
    """Scores are the softmax over all experts."""
    token = tl.program_id(0).to(tl.int64)
    expert = tl.arange(0, BLOCK)
    inside = expert < E
    value = tl.load(logits + token * logits_stride + expert, mask=inside, other=-float("inf")).to(tl.float32)
    parts = tl.where(inside, tl.exp(value - tl.max(value, axis=0)), 0.0)
    keys = tl.where(inside, order_key(value), LAST)
    scores = parts / tl.sum(parts, axis=0)
    store_choices(scores, keys, weights + token * top, ids + token * top, top, scaling, renormalise, BLOCK_TOP)


@triton.jit
def keep_groups(choice, keys, size, groups, keep, BLOCK_GROUPS: tl.constexpr):
    """keys, but LAST where an expert's group is not among the `keep` whose two best choices have the largest sum."""
    group = tl.arange(0, keys.shape[0]) // size
    slot = tl.arange(0, BLOCK_GROUPS)
    sums = tl.zeros((BLOCK_GROUPS,), tl.float32)
    for number in range(groups):
        first, rest = take_best(tl.where(group == number, keys, LAST))
        second, rest = take_best(rest)
        pair = pick(choice, first) + tl.where(size > 1, pick(choice, second), 0.0)
        sums = tl.where(slot == number, pair, sums)
    group_keys = tl.where(slot < groups, order_key(sums), LAST)
    kept = tl.zeros(keys.shape, tl.int32)
    for _number in range(keep):
        best, group_keys = take_best(group_keys)
        kept = tl.where(group == best, 1, kept)
    return tl.where(kept != 0, keys, LAST)


@triton.jit
def topk_sigmoid(logits, bias, weights, ids, logits_stride, E, top, scaling, renormalise, groups, keep, has_bias,
                 BLOCK_TOP: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """Scores are sigmoids; the bias counts for the choice alone, of experts and of groups of them."""
    token = tl.program_id(0).to(tl.int64)
    expert = tl.arange(0, BLOCK)
    inside = expert < E
    value = tl.load(logits + token * logits_stride + expert, mask=inside, other=0.0).to(tl.float32)
    scores = tl.sigmoid(value)
    choice = scores + tl.load(bias + expert, mask=inside & (has_bias != 0), other=0.0)
    keys = tl.where(inside, order_key(choice), LAST)
    if keep < groups:
        keys = keep_groups(choice, keys, E // groups, groups, keep, BLOCK_TOP)
    store_choices(scores, keys, weights + token * top, ids + token * top, top, scaling, renormalise, BLOCK_TOP)
