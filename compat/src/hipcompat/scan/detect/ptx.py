"""The text of an asm statement → the PTX opcodes in it; none for what is AMD's or x86's assembly, or empty."""

from __future__ import annotations

import re

_STATEMENT = re.compile(r"\\[nt]|[;{}\n\t]")
_OPCODE = re.compile(r"(?:[$%]?\w+:\s*)?(?:@!?%?\w+\s+)?([a-z][a-z0-9_]*(?:(?:\.|::)[A-Za-z0-9_]+)*)\b")
_BARE = frozenset((
    "trap", "exit", "ret", "brkpt", "bra", "membar", "fence", "bar", "barrier", "isspacep", "griddepcontrol", "pmevent",
))  # fmt: skip
_SPECIAL = re.compile(
    r"%%?(?:laneid|warpid|smid|nsmid|clock(?:64)?|globaltimer|lanemask_\w+|gridid|nwarpid|tid|ctaid|dynamic_smem)"
)
_FOREIGN = re.compile(r"^(?:s_|v_|ds_|global_|buffer_|flat_|image_|\.(?:globl|section|text|type)\b)")


def find_opcodes(literals: list[str]) -> tuple[str, ...]:
    """Opcodes in order, each once."""
    text = "".join(literals)
    found: dict[str, None] = {}
    for statement in map(str.strip, _STATEMENT.split(text)):
        match = _OPCODE.match(statement)
        if not match or _FOREIGN.match(statement):
            continue
        opcode = match[1]
        if "." in opcode or opcode in _BARE or _SPECIAL.search(statement):
            found[opcode] = None
    return tuple(found)
