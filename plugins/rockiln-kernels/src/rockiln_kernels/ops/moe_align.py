"""Experts of each token → slots sorted by expert, padded so that each block of slots has one expert.

A slot is token * TOP + choice. Its order within an expert is its own order, so the result does not depend on timing.
One program an expert reads all ids: no atomics, and no order to lose.
"""

import triton
import triton.language as tl


@triton.jit
def moe_count(ids, counts, slots, BLOCK: tl.constexpr):
    """counts i32 [E]: how many slots chose each expert."""
    expert = tl.program_id(0)
    count = tl.zeros((BLOCK,), tl.int32)
    for start in range(0, slots, BLOCK):
        slot = start + tl.arange(0, BLOCK)
        count += (tl.load(ids + slot, mask=slot < slots, other=-1) == expert).to(tl.int32)
    tl.store(counts + expert, tl.sum(count, axis=0))


@triton.jit
def moe_align(ids, counts, sorted_slots, block_experts, total, slots, experts, block_size, capacity,
              BLOCK_E: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """Program e < E writes expert e's slots and padding; program E what lies behind the last expert."""
    expert = tl.program_id(0)
    other = tl.arange(0, BLOCK_E)
    padded = tl.load(counts + other, mask=other < experts, other=0)
    padded = tl.cdiv(padded, block_size) * block_size
    start = tl.sum(tl.where(other < expert, padded, 0), axis=0)
    is_expert = expert < experts
    end = tl.where(is_expert, start + tl.sum(tl.where(other == expert, padded, 0), axis=0), capacity)
    placed = place_slots(ids, sorted_slots + start, expert, tl.where(is_expert, slots, 0), BLOCK)
    tl.store(total, start, mask=expert == experts)
    padding = tl.where(is_expert, block_size, capacity)
    fill_range(sorted_slots, start + placed, end, padding, slots, BLOCK)
    owner = tl.where(is_expert, expert, -1)
    fill_range(block_experts, start // block_size, end // block_size, capacity // block_size, owner, BLOCK)


@triton.jit
def place_slots(ids, place, expert, slots, BLOCK: tl.constexpr):
    """Store the slots that chose `expert`, in order; return how many there are."""
    done = 0
    for start in range(0, slots, BLOCK):
        slot = start + tl.arange(0, BLOCK)
        chosen = (tl.load(ids + slot, mask=slot < slots, other=-1) == expert).to(tl.int32)
        rank = tl.cumsum(chosen, axis=0)
        tl.store(place + done + rank - 1, slot, mask=chosen != 0)
        done += tl.sum(chosen, axis=0)
    return done


@triton.jit
def fill_range(out, first, end, most, value, BLOCK: tl.constexpr):
    """out[first:end] = value; `most`, at least end - first, is one number for all lanes, as a bound should be."""
    for start in range(0, most, BLOCK):
        place = first + start + tl.arange(0, BLOCK)
        tl.store(out + place, tl.zeros((BLOCK,), tl.int32) + value, mask=place < end)
