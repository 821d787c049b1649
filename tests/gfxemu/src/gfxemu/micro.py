"""The core's micro-op as Python writes it: struct Op of core/state.h."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

NONE, VECTOR, SCALAR, CONSTANT, VCCZ, EXECZ, SCC = range(7)
RETURNS, DPP, DPP8, SDWA, ZERO_HIGH, HAS_BASE, LDS_DIRECT, ALTERNATIVE = (1 << bit for bit in range(8))
LAYOUT = struct.Struct("<" + "BBHII" * 6 + "IIiiiI" + "H10B")
OP_NUMBER_AT = 96  # where the op number is in it
Slot = tuple[int, int, int, int, int]  # kind, width, index, low, high
EMPTY: Slot = (NONE, 1, 0, 0, 0)


@dataclass(slots=True, kw_only=True)
class Micro:
    """One micro-op while it is being put together."""

    op: str
    dst: Slot = EMPTY
    dst2: Slot = EMPTY
    src: list[Slot] = field(default_factory=list)
    pc: int = 0
    next: int = 0
    target: int = 0
    offset: int = 0
    offset1: int = 0
    control: int = 0
    neg: int = 0
    abs: int = 0
    op_sel: int = 0
    op_sel_hi: int = 0
    neg_hi: int = 0
    clamp: int = 0
    omod: int = 0
    flags: int = 0
    size: int = 0

    def pack(self, number: int, unit: int) -> bytes:
        """The bytes of struct Op."""
        slots = [self.dst, self.dst2, *self.src, *([EMPTY] * (4 - len(self.src)))]
        flat = [value for slot in slots for value in slot]
        return LAYOUT.pack(
            *flat,
            self.pc,
            self.next,
            self.target,
            self.offset,
            self.offset1,
            self.control & 0xFFFFFFFF,
            number,
            self.neg,
            self.abs,
            self.op_sel,
            self.op_sel_hi,
            self.neg_hi,
            self.clamp,
            self.omod,
            self.flags,
            unit,
            self.size,
        )
