"""A code object and one instruction → a code object with that instruction changed, and lists of such changes.

Mutants measure tests: whoever checks a kernel in gfxemu should notice nearly every one of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from gfxemu.codeobject import CodeObject, load
from gfxemu.decode import decoder_of, take
from gfxemu.formats import Layout
from gfxemu.instruction import Instruction

NOP = (0xBF800000).to_bytes(4, "little")  # s_nop 0, in every generation


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One change: `content` replaces the bytes at `address` of the code section."""

    kind: str
    address: int
    content: bytes
    before: str
    after: str


def patch(code: CodeObject, address: int, content: bytes) -> bytes:
    """The file with bytes of its code section replaced; load() it again to run it."""
    if address < 0 or address + len(content) > len(code.text):
        raise ValueError(f"{len(content)} bytes at {address:#x} are outside of the code section")
    start = code.text_offset + address
    return code.data[:start] + content + code.data[start + len(content) :]


def apply(code: CodeObject, mutation: Mutation) -> CodeObject:
    """The mutated code object."""
    return load(patch(code, mutation.address, mutation.content))


def nop_out(code: CodeObject, instruction: Instruction) -> bytes:
    """The file without one instruction."""
    return patch(code, instruction.address, NOP * (instruction.size // 4))


def layout_of(code: CodeObject, instruction: Instruction) -> Layout | None:
    """The bit layout an instruction was read with."""
    raw = int.from_bytes(code.text[instruction.address : instruction.address + 4], "little")
    return next((item for item in decoder_of(code.arch).layouts if item.matches(raw)), None)


def set_field(code: CodeObject, instruction: Instruction, field: str, value: int) -> bytes:
    """The bytes of an instruction with one field of its format changed (names: formats.py)."""
    layout = layout_of(code, instruction)
    if layout is None or field not in layout.fields:
        raise ValueError(f"{instruction.text()} has no field {field}")
    place = layout.fields[field]
    raw = int.from_bytes(code.text[instruction.address : instruction.address + instruction.size], "little")
    mask = ((1 << place[1]) - 1) << place[0]
    return ((raw & ~mask) | (value << place[0] & mask)).to_bytes(instruction.size, "little")


def swap_sources(code: CodeObject, instruction: Instruction) -> bytes | None:
    """An instruction with src0 and src1 exchanged; None where its format cannot hold that."""
    layout = layout_of(code, instruction)
    if layout is None or not {"src0", "src1"} <= set(layout.fields) or instruction.operand("src1") is None:
        return None
    raw = int.from_bytes(code.text[instruction.address : instruction.address + instruction.size], "little")
    first, second = take(raw, layout.fields["src0"]), take(raw, layout.fields["src1"])
    if layout.fields["src1"][1] == 8 and layout.fields["src0"][1] == 9:  # VOP2: src1 must be a VGPR
        if first < 256 or first - 256 == second:
            return None
        first, second = first - 256, second + 256
    if first == second:
        return None
    swapped = raw
    for field, value in (("src0", second), ("src1", first)):
        place = layout.fields[field]
        swapped = swapped & ~(((1 << place[1]) - 1) << place[0]) | value << place[0]
    return swapped.to_bytes(instruction.size, "little")


def flip_register(code: CodeObject, instruction: Instruction, seed: int) -> bytes | None:
    """An instruction whose destination or a source is the neighbouring register."""
    layout = layout_of(code, instruction)
    fields = [
        f for f in ("vdst", "src0", "src1", "src2", "sdst", "addr", "data", "data0") if layout and f in layout.fields
    ]
    fields = [f for f in fields if (item := instruction.operand(f)) is not None and item.kind in "vas"]
    if not fields or layout is None:
        return None
    field = random.Random(seed).choice(fields)  # noqa: S311  # a choice, no secret
    return set_field(code, instruction, field, instruction.fields[field] ^ 1)


def describe(code: CodeObject, kind: str, i: Instruction, content: bytes | None) -> Mutation | None:
    """A Mutation, unless nothing changes or the new bytes are no instruction of the same length."""
    if content is None or content == code.text[i.address : i.address + i.size]:
        return None
    new = decoder_of(code.arch).decode(content + bytes(20), 0)
    if kind != "nop" and (new.size != i.size or new.mnemonic == "unknown"):
        return None
    return Mutation(
        kind=kind, address=i.address, content=content, before=i.text(), after="s_nop 0" if kind == "nop" else new.text()
    )


def list_mutations(code: CodeObject, seed: int = 0) -> Iterator[Mutation]:
    """Every nop, swap and register flip of every instruction that computes, moves or waits, in code order."""
    harmless = ("s_nop", "s_code_end", "s_endpgm", "s_delay_alu", "s_clause", "s_setprio", "unknown")
    for i in code.instructions:
        if i.base in harmless:
            continue
        changes = (
            ("nop", NOP * (i.size // 4)),
            ("swap", swap_sources(code, i)),
            ("register", flip_register(code, i, seed + i.address)),
        )
        for kind, content in changes:
            if mutation := describe(code, kind, i, content):
                yield mutation
