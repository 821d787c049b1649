"""Dual-issue instructions → micro-ops in an order in which both halves read before either writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gfxemu.micro import VECTOR, Micro

if TYPE_CHECKING:
    from gfxemu.instruction import Instruction
    from gfxemu.lower import Lowering

SPARE = 511  # a register row that RDNA, which has no AGPRs, leaves free


def writes(i: Instruction) -> int:
    """The VGPR a half writes."""
    return i.operands[0].index


def reads(i: Instruction, register: int) -> bool:
    """Whether a half reads a VGPR."""
    sources = i.operands if "fmac" in i.mnemonic or "dot2acc" in i.mnemonic else i.operands[1:]
    return any(item.kind == "v" and item.index == register for item in sources)


def order_of(i: Instruction) -> tuple[Instruction, Instruction, bool]:
    """Which half first, and whether the first's destination must be saved before."""
    x, y = i.parts
    if not reads(y, writes(x)):
        return x, y, False
    if not reads(x, writes(y)):
        return y, x, False
    return x, y, True


def count_micros(i: Instruction) -> int:
    """How many micro-ops an instruction becomes."""
    return 1 if not i.parts else 3 if order_of(i)[2] else 2


def lower_any(ctx: Lowering, i: Instruction) -> list[Micro]:
    """The micro-ops of one instruction."""
    if not i.parts:
        return [ctx.lower(i)]
    first, second, save = order_of(i)
    micros = [ctx.lower(first), ctx.lower(second)]
    if save:
        old = writes(first)
        copy = Micro(op="v_mov_b32", dst=(VECTOR, 1, SPARE, 0, 0), src=[(VECTOR, 1, old, 0, 0)])
        micros[1].src = [
            (VECTOR, 1, SPARE, 0, 0) if slot[:1] + slot[2:3] == (VECTOR, old) else slot for slot in micros[1].src
        ]
        micros.insert(0, copy)
    for micro in micros:
        micro.pc, micro.next = i.address, i.address + i.size
    return micros
