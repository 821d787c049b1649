"""The text of an asm statement → its PTX opcodes, none for AMD's or x86's assembly; and hits in .ptx files."""

from __future__ import annotations

import re

from hipcompat.scan.rule import Hit, Hits

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


_INSTRUCTION = re.compile(
    r"(?:abs|add|activemask|and|atom|bar|barrier|bf[ei]|bfind|bra|brev|call|clz|cos|cp|createpolicy|cvta?|div|dp[24]a|elect"
    r"|ex2|exit|fence|fma|fns|griddepcontrol|isspacep|ld|ldmatrix|ldu|lg2|lop3|mad|mapa|max|mbarrier|membar|min|mma|mov|mul"
    r"|nanosleep|neg|not|or|popc|prefetch|prefetchu|prmt|rcp|red|redux|rem|ret|rsqrt|sad|selp|set|setmaxnreg|setp|shf|shfl"
    r"|shl|shr|sin|slct|sqrt|st|stmatrix|sub|suld|sured|sust|tanh|tcgen05|testp|tex|tld4|trap|vote|wgmma|xor)(?:[.:]|$)"
)
_OPERAND = re.compile(r"\$\d|%\w|\$\{")


def is_ptx(text: str) -> tuple[str, ...]:
    """Opcodes of a text that is PTX by itself: every statement is an instruction's or a declaration, with operands."""
    if "." not in text or not _OPERAND.search(text):
        return ()
    return tuple(opcode for opcode in find_opcodes([text]) if _INSTRUCTION.match(opcode))


_TARGET = re.compile(r"^[ \t]*\.target[ \t]+(\w+)", re.MULTILINE)


def find_ptx_file_hits(raw: str) -> Hits:
    """The line of a .ptx file that names its GPU."""
    if match := _TARGET.search(raw):
        yield Hit(rule="ptx-file", start=match.start(1), end=match.end(1), detail=match[1])
