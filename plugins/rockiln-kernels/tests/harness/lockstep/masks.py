"""Scalar registers as masks and as numbers: what two runs hold in them, and what bitwise instructions make of it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from gfxemu.lower import NULL, VCC
from gfxemu.micro import CONSTANT, EXECZ, SCALAR, SCC, VCCZ

from harness.lockstep.lanes import ALL, NONE, Lanes
from harness.lockstep.state import EXEC, Mask, State


class Differs(Exception):  # noqa: N818  # it ends a proof, and is no error
    """The two runs may part here; says why."""


class Masks:
    """Reads and writes scalar registers of a State. `block` and `place` are where the walk is."""

    def __init__(self, lanes: Lanes, wave_lanes: int) -> None:
        self.lanes, self.wave_lanes, self.block, self.place = lanes, wave_lanes, 0, 0

    def is_mask(self, slot: Any) -> bool:
        """Whether an operand is as wide as a wave."""
        return bool(slot[1] * 32 == self.wave_lanes)

    def is_same(self, state: State, slot: Any) -> bool:
        """Whether both runs read the same number."""
        kind, width, index = slot[:3]
        if kind == SCC:
            return state.condition_agrees
        if kind == EXECZ or (kind == SCALAR and index >= EXEC):
            return state.active.first == state.active.second
        if kind == VCCZ:
            width, index = self.wave_lanes // 32, VCC
        elif kind != SCALAR:
            return True
        return not any(reg in state.numbers for reg in range(index, index + width))

    def read(self, state: State, slot: Any) -> Mask:
        """An operand as a mask, without lanes that there are none of."""
        own, others = self._read_raw(state, slot), self.lanes.without(state.none)
        return own if others == ALL else Mask(self.lanes.both(own.first, others), self.lanes.both(own.second, others))

    def _read_raw(self, state: State, slot: Any) -> Mask:
        """One that nothing is known of has an atom since it was written."""
        kind, _, index, low, high = slot
        if kind == SCALAR and index == EXEC:
            return state.active
        if kind == CONSTANT:
            value = self._constant((low | high << 32) & (1 << self.wave_lanes) - 1)
            return Mask(value, value)
        if index == NULL:
            return Mask(NONE, NONE)
        if kind != SCALAR or not self.is_mask(slot):
            return self._unknown(("odd", index), is_same=self.is_same(state, slot))
        if index not in state.masks:  # never written: what the kernel starts with
            own = self.lanes.atom(("entry", index))
            return Mask(own, own if self.is_same(state, slot) else self.lanes.atom(("entry again", index)))
        return state.masks[index]

    def _unknown(self, name: Hashable, *, is_same: bool) -> Mask:
        own = self.lanes.atom(("unknown", self.place, name), self.block)
        return Mask(own, own if is_same else self.lanes.atom(("unknown again", self.place, name), self.block))

    def _constant(self, bits: int) -> int:
        if bits == (1 << self.wave_lanes) - 1:
            return ALL
        return NONE if bits == 0 else self.lanes.atom(("constant", bits))

    def write(self, state: State, slot: Any, mask: Mask | None, *, same: bool = True, word: Hashable = None) -> None:
        """A result: a mask, or (None) a number that is the `same` in both runs or not."""
        kind, width, index = slot[:3]
        if kind != SCALAR or index == NULL:
            return
        if index >= EXEC:
            if mask is None or not self.is_mask(slot):
                raise Differs("EXEC is written as a number")
            state.active = mask
            return
        is_same = mask.first == mask.second if mask else same
        for reg in range(index, index + width):
            state.scalar_words.pop(reg, None)
            (state.numbers.discard if is_same else state.numbers.add)(reg)
        for reg in {reg if self.wave_lanes == 32 else reg & ~1 for reg in range(index, index + width)}:
            is_like = self.is_same(state, (SCALAR, self.wave_lanes // 32, reg))
            state.masks[reg] = self._unknown(reg, is_same=is_like)
        if mask and self.is_mask(slot):
            state.masks[index] = mask
        if isinstance(word, tuple):
            for reg in range(index, index + width):
                state.scalar_words[reg] = word if width == 1 else (*word, reg)

    def word(self, state: State, slot: Any) -> Hashable:
        """What a 32-bit operand holds, or None."""
        if slot[0] == CONSTANT and slot[1] == 1:
            return ("constant", slot[3])
        return state.scalar_words.get(slot[2]) if slot[0] == SCALAR and slot[1] == 1 else None

    def invert(self, a: Mask) -> Mask:
        """All other lanes."""
        return Mask(self.lanes.without(a.first), self.lanes.without(a.second))

    def both(self, a: Mask, b: Mask) -> Mask:
        """a and b."""
        return Mask(self.lanes.both(a.first, b.first), self.lanes.both(a.second, b.second))

    def exclusive(self, a: Mask, b: Mask) -> Mask:
        """a or b but not both."""
        return self.invert(Mask(self.lanes.same(a.first, b.first), self.lanes.same(a.second, b.second)))

    def combine(self, name: str, a: Mask, b: Mask) -> Mask | None:
        """A bitwise instruction by its name without s_ and size; None: it is none."""
        invert = self.invert
        table = {
            "and": lambda: self.both(a, b),
            "or": lambda: invert(self.both(invert(a), invert(b))),
            "xor": lambda: self.exclusive(a, b),
            "andn2": lambda: self.both(a, invert(b)),
            "orn2": lambda: invert(self.both(invert(a), b)),
            "andn1": lambda: self.both(invert(a), b),
            "orn1": lambda: invert(self.both(a, invert(b))),
            "nand": lambda: invert(self.both(a, b)),
            "nor": lambda: self.both(invert(a), invert(b)),
            "xnor": lambda: invert(self.exclusive(a, b)),
        }
        return table[name]() if name in table else None
