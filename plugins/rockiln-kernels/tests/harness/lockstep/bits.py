"""Which bits of a vector register may be set: what a mask of bits need not clear, and what is 0 for sure."""

from __future__ import annotations

from typing import Any

from gfxemu.lower_memory import D16, D16_HIGH, SIGNED
from gfxemu.micro import CONSTANT, VECTOR

from harness.lockstep.flow import LANE_CONTROLS, has_modifiers
from harness.lockstep.state import State

WHOLE, LOW = (1 << 32) - 1, (1 << 16) - 1


def find_bits(state: State, slot: Any) -> int:
    """Bits that may be set in an operand."""
    if slot[0] == VECTOR:
        return state.bits.get(slot[2], WHOLE)
    return int(slot[3]) if slot[0] == CONSTANT else WHOLE


def compute_bits(state: State, micro: Any) -> int:  # noqa: C901, PLR0911  # one return an op
    """Bits that may be set in the result of a 32-bit op without modifiers."""
    bits: list[int] = [find_bits(state, slot) for slot in micro.src]
    constants: list[int | None] = [int(slot[3]) & 31 if slot[0] == CONSTANT else None for slot in micro.src]
    match micro.op:
        case "v_mov_b32":
            return bits[0]
        case "v_and_b32":
            return bits[0] & bits[1]
        case "v_or_b32" | "v_xor_b32" | "v_cndmask_b32":
            return bits[0] | bits[1]
        case "v_or3_b32":
            return bits[0] | bits[1] | bits[2]
        case "v_and_or_b32":
            return bits[0] & bits[1] | bits[2]
        case "v_lshlrev_b32" if constants[0] is not None:
            return bits[1] << constants[0] & WHOLE
        case "v_lshl_or_b32" if constants[1] is not None:
            return bits[0] << constants[1] & WHOLE | bits[2]
        case "v_lshrrev_b32" if constants[0] is not None:
            return bits[1] >> constants[0]
        case "v_ashrrev_i32" if constants[0] is not None and not bits[1] >> 31:
            return bits[1] >> constants[0]
        case "v_bfe_u32" if constants[1] is not None and constants[2] is not None:
            return bits[0] >> constants[1] & (1 << constants[2]) - 1
        case "v_add_u32":
            return min(WHOLE, (1 << max(bits[0].bit_length(), bits[1].bit_length()) + 1) - 1)
    return WHOLE


def load_bits(state: State, micro: Any) -> int:
    """Bits that may be set in a register that was loaded."""
    if micro.size >= 4 or micro.control & SIGNED:
        return WHOLE
    own: int = (1 << 8 * int(micro.size)) - 1
    old = state.bits.get(micro.dst[2], WHOLE)
    if micro.control & D16_HIGH:
        return own << 16 | old & LOW
    return own | old & ~LOW & WHOLE if micro.control & D16 else own


def repeats(state: State, micro: Any) -> bool:
    """Whether a result is for sure what its register holds: a mask of bits that are 0, or 0 on 0."""
    if micro.flags & LANE_CONTROLS or has_modifiers(micro) or micro.dst[:2] != (VECTOR, 1):
        return False
    if micro.op == "v_and_b32":
        for kept, other in (micro.src[:2], micro.src[1::-1]):
            if kept[0] == CONSTANT and other == micro.dst and not find_bits(state, other) & ~kept[3]:
                return True
    return compute_bits(state, micro) == 0 == find_bits(state, micro.dst)
