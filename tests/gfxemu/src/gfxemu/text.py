"""A decoded instruction → one line as LLVM's disassembler writes it."""

from __future__ import annotations

from gfxemu.instruction import Instruction


def write_text(i: Instruction) -> str:
    """Mnemonic and operands."""
    if i.parts:
        return " :: ".join(write_text(part) for part in i.parts)
    operands = ", ".join(item.text(i.generation) for item in i.operands)
    return f"{i.mnemonic} {operands}".strip()
