"""Dynamic segment of an ELF file → the names it defines and lacks, and the symbol versions of both.

pyelftools finds the tables; they are decoded in bulk, since a library may have 500,000 symbols.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile

_SYMBOL = struct.Struct("<IBBHQQ")
_NEED = struct.Struct("<HHIII")
_NEED_ROW = struct.Struct("<IHHII")
_DEFINITION = struct.Struct("<HHHHIII")
_WEAK_FLAG = 2
_GLOBAL, _WEAK, _UNIQUE = 1, 2, 10
_MAX_CHAIN = 1 << 16
_HIDDEN = frozenset({1, 2})


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbols:
    """Names, NUL-joined and in the table's order."""

    defined: bytes
    undefined: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """Symbol versions."""

    defined: tuple[str, ...]
    needs: tuple[tuple[str, str], ...]


def read_symbols(elf: ELFFile, dynamic: DynamicSegment) -> Symbols:
    """Global names of the dynamic symbol table."""
    count = dynamic.num_symbols()
    _, offset = dynamic.get_table_offset("DT_SYMTAB")
    if offset is None or not count:
        return Symbols(defined=b"", undefined=b"")
    elf.stream.seek(offset)
    rows = elf.stream.read(count * _SYMBOL.size)
    strings = _read_strings(elf, dynamic)
    defined, undefined = [], []
    for name, info, other, section, _, _ in _SYMBOL.iter_unpack(rows[: len(rows) // _SYMBOL.size * _SYMBOL.size]):
        binding = info >> 4
        if section and binding in {_GLOBAL, _WEAK, _UNIQUE} and other & 3 not in _HIDDEN:
            defined.append(_name_at(strings, name))
        elif not section and binding == _GLOBAL and name:
            undefined.append(_name_at(strings, name))
    return Symbols(defined=b"\0".join(defined), undefined=b"\0".join(undefined))


def read_versions(elf: ELFFile, dynamic: DynamicSegment) -> Versions:
    """DT_VERDEF and DT_VERNEED."""
    strings = _read_strings(elf, dynamic)
    return Versions(
        defined=tuple(_read_definitions(_read_table(elf, dynamic, "DT_VERDEF"), strings)),
        needs=tuple(dict.fromkeys(_read_needs(_read_table(elf, dynamic, "DT_VERNEED"), strings))),
    )


def _read_strings(elf: ELFFile, dynamic: DynamicSegment) -> bytes:
    _, offset = dynamic.get_table_offset("DT_STRTAB")
    size_bytes = next((tag.entry.d_val for tag in dynamic.iter_tags("DT_STRSZ")), 0)
    if offset is None:
        return b""
    elf.stream.seek(offset)
    return bytes(elf.stream.read(size_bytes))


def _read_table(elf: ELFFile, dynamic: DynamicSegment, tag: str) -> bytes:
    """A chained table has no size: what follows it up to the segment's end comes along."""
    _, offset = dynamic.get_table_offset(tag)
    if offset is None:
        return b""
    elf.stream.seek(offset)
    return bytes(elf.stream.read(1 << 20))


def _read_definitions(table: bytes, strings: bytes) -> Iterator[str]:
    place = 0
    for _ in range(_MAX_CHAIN):
        if place + _DEFINITION.size > len(table):
            return
        _, _, _, _, _, names, following = _DEFINITION.unpack_from(table, place)
        name = table[place + names : place + names + 4]
        if len(name) == 4:
            yield _name_at(strings, int.from_bytes(name, "little")).decode("latin-1")
        if not following:
            return
        place += following


def _read_needs(table: bytes, strings: bytes) -> Iterator[tuple[str, str]]:
    place = 0
    for _ in range(_MAX_CHAIN):
        if place + _NEED.size > len(table):
            return
        _, count, file, rows, following = _NEED.unpack_from(table, place)
        soname = _name_at(strings, file).decode("latin-1")
        row = place + rows
        for _ in range(count):
            if row + _NEED_ROW.size > len(table):
                return
            _, flags, _, name, next_row = _NEED_ROW.unpack_from(table, row)
            if not flags & _WEAK_FLAG:
                yield soname, _name_at(strings, name).decode("latin-1")
            row += next_row
        if not following:
            return
        place += following


def _name_at(strings: bytes, offset: int) -> bytes:
    end = strings.find(b"\0", offset)
    return strings[offset:end] if end >= 0 else strings[offset:]
