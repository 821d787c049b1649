"""Unit → hits of inline PTX: the text of asm with the macros that it is made of, and macros for asm itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipcompat.scan.detect.ptx import find_opcodes
from hipcompat.scan.detect.unit import Unit
from hipcompat.scan.regions import is_directive, is_inside, split_arguments
from hipcompat.scan.rule import Hit, Hits

_ASM = re.compile(r"\b(?:asm|__asm__|__asm)\b")
_OPENING = re.compile(r"\s*(?:(?:volatile|__volatile__|goto|inline)\s*){0,3}\(")
_DEFINE = re.compile(r"#[ \t]*define[ \t]+([A-Za-z_]\w*)(?:\([^()\n]*\))?")
_WORD = re.compile(r"[A-Za-z_]\w*")
_UNKNOWN = "op"
"""Stands for what a macro's parameter or a name from elsewhere puts into the text."""
_DEEPEST = 4
_MOST_MACROS = 200
_MOST_NAMES = 500
"""Names that are looked up for one text."""
_LONGEST = 8_000


def find_asm_hits(unit: Unit) -> Hits:
    """Each asm whose text is PTX, where its text stands or where it is used."""
    if "asm" not in unit.text:
        return
    text = _Assembly(unit)
    for match in _ASM.finditer(unit.text):
        yield from text.judge(match.start(), match.end())
    yield from text.find_uses()


class _Assembly:
    """The file's macros, by the literals in them."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._left = 0
        self._bodies: dict[str, tuple[int, int]] = {}
        for match in _DEFINE.finditer(unit.text):
            end = unit.text.find("\n", match.end())
            self._bodies[match[1]] = (match.end(), end if end >= 0 else len(unit.text))

    def judge(self, start: int, end: int) -> Hits:
        """asm( with PTX in it; or with a text from elsewhere, in device code."""
        arguments = self._open(end)
        if not arguments:
            return
        self._left = _MOST_NAMES
        first, last = arguments[0][0], arguments[-1][1]
        colon = self._unit.text.find(":", first, last)
        words = self._read(first, colon if colon >= 0 else last, _DEEPEST)
        opcodes = find_opcodes([words])
        is_elsewhere = words.strip() in {"", _UNKNOWN} and is_inside(self._unit.bodies, start)
        has_name = _WORD.search(self._unit.text, first, arguments[0][1]) is not None
        if opcodes or (is_elsewhere and has_name):
            detail = re.sub(rf"\b{_UNKNOWN}\b", "?", ", ".join(opcodes))
            yield Hit(rule="inline-ptx", start=start, end=end, detail=detail or "a macro")

    def find_uses(self) -> Hits:
        """PTX("mov.u32 ..."), where the macro PTX is asm with what it is given."""
        names = [name for name, body in self._bodies.items() if _ASM.search(self._unit.text, *body)][:_MOST_MACROS]
        if not names:
            return
        for match in re.finditer(rf"\b(?:{'|'.join(map(re.escape, names))})\b", self._unit.text):
            arguments = () if is_directive(self._unit.text, match.start()) else self._open(match.end())
            self._left = _MOST_NAMES
            opcodes = find_opcodes([self._read(arguments[0][0], arguments[-1][1], _DEEPEST)]) if arguments else ()
            if opcodes:
                yield Hit(rule="inline-ptx", start=match.start(), end=match.end(), detail=", ".join(opcodes))

    def _open(self, end: int) -> tuple[tuple[int, int], ...]:
        opening = _OPENING.match(self._unit.text, end)
        return split_arguments(self._unit.text, opening.end() - 1) if opening else ()

    def _read(self, start: int, end: int, depth: int) -> str:
        """The literals of a stretch, and of the macros in it; what is not known as a word of its own."""
        parts: list[str] = []
        at = start
        for begin, stop in self._unit.code.literals_between(start, end):
            parts += (*self._read_names(at, begin, depth), read_literal(self._unit, begin, stop))
            at = stop
        parts += self._read_names(at, end, depth)
        return "".join(parts)[:_LONGEST]

    def _read_names(self, start: int, end: int, depth: int) -> Iterator[str]:
        code = self._unit.text
        at = start
        while match := _WORD.search(code, at, end):
            at = match.end()
            if match.group() in {"R", "L", "u8", "u8R"} and code[at : at + 1] == '"':
                continue
            body = self._bodies.get(match.group())
            self._left -= 1
            yield self._read(*body, depth - 1) if body and depth and self._left > 0 else _UNKNOWN
            called = re.compile(r"\s*\(").match(code, at, end)
            arguments = split_arguments(code, called.end() - 1) if called else ()
            at = min(arguments[-1][1], end) if arguments else at


def read_literal(unit: Unit, start: int, stop: int) -> str:
    """What a string literal holds, escapes as they are; of a raw one without its delimiters."""
    held = unit.code.text[start + 1 : stop - 1]
    if unit.code.text[max(0, start - 1) : start] != "R":
        return held
    opening = held.find("(")
    return held[opening + 1 : len(held) - opening - 1] if opening >= 0 else held
