"""Vector instructions: in which lanes two runs still agree after each."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from gfxemu.lower import VCC
from gfxemu.lower_memory import D16, D16_HIGH
from gfxemu.micro import ALTERNATIVE, DPP, DPP8, SCALAR, SDWA, VECTOR, ZERO_HIGH

from harness.lockstep.bits import LOW, WHOLE, compute_bits
from harness.lockstep.flow import LANE_CONTROLS, Step, has_modifiers
from harness.lockstep.lanes import ALL, NONE
from harness.lockstep.masks import Masks
from harness.lockstep.order import Order
from harness.lockstep.state import Mask, State

SHORT = frozenset("sthb")
MOVES_LANES = ("v_permlane", "ds_bpermute", "ds_permute", "ds_swizzle")
PARTS = ("pack_small", "pack_stochastic", "unpack_small", "v_fma_mixlo", "v_fma_mixhi", "v_mad_mix", "v_permlane")
"""Ops that may leave some bits or lanes of what they write as they were."""
PACKED = ("v_pk_", "v_dot", *PARTS)
Halves = tuple[int, ...]
BOTH: Halves = (0, 1)


class Vectors:
    """Steps of the vector ALU."""

    def __init__(self, masks: Masks, ops: Any, threads: int) -> None:
        self.masks, self.lanes, self.ops, self.order = masks, masks.lanes, ops, Order(masks, threads)

    def registers(self, slot: Any) -> range:
        """Vector registers of an operand."""
        return range(slot[2], slot[2] + slot[1]) if slot[0] == VECTOR else range(0)

    def agreement(self, state: State, slot: Any, halves: Halves = BOTH) -> int:
        """Lanes in which an operand agrees."""
        if slot[0] != VECTOR:
            return ALL if self.masks.is_same(state, slot) else NONE
        agree = ALL
        for reg in self.registers(slot):
            for half in halves:
                agree = self.lanes.both(agree, state.vectors.get(2 * reg + half, ALL))
        return agree

    def agree_active(self, state: State) -> int:
        """Lanes that are active in both runs or in neither."""
        return self.lanes.same(state.active.first, state.active.second)

    def is_active_alike(self, state: State) -> bool:
        """Whether the same lanes are active."""
        return state.active.first == state.active.second

    def store(self, state: State, slot: Any, agree: int, halves: Halves = BOTH, *, is_part: bool = False) -> None:
        """A result in the active lanes, which agrees in `agree`; the others keep what they have."""
        lanes, alike = self.lanes, self.agree_active(state)
        for reg in self.registers(slot):
            for half in halves:
                old = state.vectors.get(2 * reg + half, ALL)
                own = lanes.both(agree, old) if is_part else agree
                self.note(state, 2 * reg + half, lanes.both(alike, lanes.choose(state.active.first, own, old)))

    def note(self, state: State, part: int, agree: int) -> None:
        """Where half a register (twice its number, and one more for the high half) agrees from here on."""
        state.vectors[part] = agree
        if agree == ALL:
            del state.vectors[part]

    def note_all(self, state: State, slot: Any, *, is_same: bool) -> None:
        """A result in every lane."""
        self.forget(state, slot)
        for reg in self.registers(slot):
            for half in BOTH:
                self.note(state, 2 * reg + half, ALL if is_same else NONE)

    def limit(self, state: State, slot: Any, bits: int, halves: Halves = BOTH) -> None:
        """Bits that may be set in a result; inactive lanes, and the half that is not written, have what they had."""
        for reg in self.registers(slot):
            old = state.bits.pop(reg, WHOLE)
            own = bits if slot[1] == 1 else WHOLE
            if halves != BOTH:
                own = old & ~LOW | own & LOW if halves == (0,) else old & LOW | LOW << 16
            if state.active.first != ALL:
                own |= old
            if own & WHOLE != WHOLE:
                state.bits[reg] = own & WHOLE

    def forget(self, state: State, slot: Any) -> None:
        """Nothing is known of what an operand's registers hold."""
        for reg in self.registers(slot):
            state.words.pop(reg, None)
            state.bits.pop(reg, None)

    def moved(self, state: State, slot: Any, *, fetches_inactive: bool) -> int:
        """What is read from other lanes agrees where all of it does, and the same lanes are there to be read."""
        agree = self.agreement(state, slot)
        if agree == ALL and (fetches_inactive or self.is_active_alike(state)):
            return ALL
        is_seen = not fetches_inactive and self.is_active_alike(state) and self.lanes.holds(state.active.first, agree)
        return ALL if is_seen else NONE

    def compute(self, state: State, step: Step) -> None:
        """The vector ALU, but for matrices."""
        micro = step.micro
        types = self.ops[micro.op][2]
        if micro.op in ("v_readlane_b32", "v_readfirstlane_b32", "v_writelane_b32"):
            return self._pass_scalar(state, micro)
        if "_swap" in micro.op:
            return self._swap(state, micro)
        agree = self._sources(state, micro, types)
        if micro.op.startswith("v_cmp"):
            return self._compare(state, step, agree)
        if micro.dst2[0] == SCALAR:
            atom = self.lanes.atom(("carried", step.place), self.masks.block)
            self.masks.write(state, micro.dst2, self._mask_of(state, agree, atom, step.place))
        if micro.dst[0] == SCALAR:
            return self.masks.write(state, micro.dst, None, same=agree == ALL)
        halves = _find_halves(micro, types, 3)
        is_part = bool(micro.flags & LANE_CONTROLS) or micro.op.startswith(PARTS)
        is_plain = not (is_part or has_modifiers(micro))
        word, where = self._name(state, step, is_plain=is_plain and halves == BOTH)
        self.limit(state, micro.dst, compute_bits(state, micro) if is_plain else WHOLE, halves)
        self.store(state, micro.dst, agree, halves, is_part=is_part)
        self.name(state, micro.dst, word, where)
        return None

    def _sources(self, state: State, micro: Any, types: str) -> int:
        agree = ALL
        for order, slot in enumerate(micro.src):
            if order + 1 < len(types) and types[order + 1] == "m":
                own = self._agree_mask(state, slot)
            elif order == 0 and (micro.flags & (DPP | DPP8) or micro.op.startswith(MOVES_LANES)):
                own = self.moved(state, slot, fetches_inactive=_fetches_inactive(micro))
            else:
                own = self.agreement(state, slot, _find_halves(micro, types, order))
            agree = self.lanes.both(agree, own)
        if micro.op.startswith("v_div_fmas"):
            condition = (SCALAR, self.masks.wave_lanes // 32, VCC, 0, 0)
            agree = self.lanes.both(agree, self._agree_mask(state, condition))
        return agree

    def _agree_mask(self, state: State, slot: Any) -> int:
        mask = self.masks.read(state, slot)
        return self.lanes.same(mask.first, mask.second)

    def _compare(self, state: State, step: Step, agree: int) -> None:
        micro = step.micro
        atom = self.order.compare(state, step)
        result = self._mask_of(state, agree, atom, step.place)
        self.masks.write(state, micro.dst, result)
        if micro.flags & ALTERNATIVE:
            state.active = result

    def _mask_of(self, state: State, agree: int, atom: int, place: int) -> Mask:
        """One bit an active lane, 0 elsewhere."""
        lanes = self.lanes
        own = lanes.choose(agree, atom, lanes.atom(("made again", place), self.masks.block))
        return Mask(lanes.both(state.active.first, atom), lanes.both(state.active.second, own))

    def _pass_scalar(self, state: State, micro: Any) -> None:
        agree = ALL
        for slot in micro.src:
            agree = self.lanes.both(agree, self.agreement(state, slot))
        is_same = agree == ALL and self.is_active_alike(state)
        if micro.op != "v_writelane_b32":
            return self.masks.write(state, micro.dst, None, same=is_same)
        self.forget(state, micro.dst)
        if not is_same:
            self.note_all(state, micro.dst, is_same=False)
        return None

    def _swap(self, state: State, micro: Any) -> None:
        slots = (micro.dst, *micro.src)
        is_same = all(self.agreement(state, slot) == ALL for slot in slots) and self.is_active_alike(state)
        for slot in slots:
            self.forget(state, slot)
            if not is_same:
                self.note_all(state, slot, is_same=False)

    def _name(self, state: State, step: Step, *, is_plain: bool) -> tuple[Hashable, int]:
        """What the result holds, and in which lanes: the same word where the same was moved or computed."""
        micro = step.micro
        fresh: tuple[Hashable, int] = (("made", self.masks.block, step.place, micro.dst[2]), ALL)
        if not is_plain:
            return fresh
        if micro.op == "v_mov_b32":
            return self.order.word(state, micro.src[0]) or fresh
        return self.order.name(micro.op, [self.order.word(state, slot) for slot in micro.src]) or fresh

    def name(self, state: State, slot: Any, word: Hashable, where: int) -> None:
        """What a result holds in these of the active lanes; the others keep what they have."""
        for reg in self.registers(slot):
            own = word if slot[1] == 1 else (*word, reg) if isinstance(word, tuple) else None
            old = state.words.get(reg)
            kept = old[1] if old and old[0] == own else NONE
            state.words[reg] = (own, self.lanes.choose(state.active.first, where, kept))

    def multiply(self, state: State, step: Step) -> None:
        """Matrix instructions read and write every lane."""
        micro = step.micro
        is_same = all(self.agreement(state, slot) == ALL for slot in (*micro.src, micro.dst2))
        self.note_all(state, micro.dst, is_same=is_same)


def find_written_halves(micro: Any, types: str) -> Halves:
    """The halves of its result's register that an op writes."""
    if micro.op == "mem_load" or micro.op.startswith("ds_read"):
        return (0,) if micro.control & D16 else (1,) if micro.control & D16_HIGH else BOTH
    return _find_halves(micro, types, 3)


def _find_halves(micro: Any, types: str, source: int) -> Halves:
    """Which halves of a source's register, or (3) of the result's, a 16-bit op touches."""
    place = 0 if source == 3 else source + 1
    is_short = len(types) > place and types[place] in SHORT and not micro.flags & SDWA
    if not is_short or micro.op.startswith(PACKED) or (source == 3 and micro.flags & ZERO_HIGH):
        return BOTH
    return (1,) if micro.op_sel >> source & 1 else (0,)


def _fetches_inactive(micro: Any) -> bool:
    if micro.flags & DPP:
        return bool(micro.control >> 21 & 1)
    return bool(micro.op_sel_hi & 1 if micro.flags & DPP8 else micro.op_sel & 1)
