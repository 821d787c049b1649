"""Binary → where its wrappers lead once it is relocated, and which words of the image may differ for that."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from functools import cached_property

from rockiln.fatbin.verify.binary import Binary

WRAPPERS = ".hipFatBinSegment"
_WRAPPER_BYTES, _POINTER_AT = 24, 8
_RELA = struct.Struct("<QQq")
_R_64, _R_RELATIVE = 1, 8
_CHUNK_BYTES = _RELA.size << 15


def find_wrappers(binary: Binary) -> dict[int, int]:
    """Address of each wrapper's pointer → where it leads."""
    slots = {}
    for name, section in binary.sections.items():
        if name.split(" #")[0] == WRAPPERS:
            for address in range(section["sh_addr"], section["sh_addr"] + section["sh_size"], _WRAPPER_BYTES):
                if magic := binary.load(address, 8).strip(b"\0"):
                    if magic != b"FPIH\x01":
                        raise ValueError(f"the wrapper at {address:#x} is damaged")
                    slots[address + _POINTER_AT] = binary.load_word(address + _POINTER_AT)
    return {**slots, **{place: _target(binary, row) for place, row in find_rows(binary, slots).items()}}


def find_rows(binary: Binary, slots: Mapping[int, int]) -> dict[int, int]:
    """Address of each wrapper's pointer → address of its entry in DT_RELA, where it has one."""
    table, size_bytes = binary.dynamic.get("DT_RELA", 0), binary.dynamic.get("DT_RELASZ", 0)
    rows = {}
    for start in range(table, table + size_bytes, _CHUNK_BYTES):
        piece = binary.load(start, min(_CHUNK_BYTES, table + size_bytes - start))
        for number, (place, _, _) in enumerate(_RELA.iter_unpack(piece)):
            if place in slots:
                rows[place] = start + number * _RELA.size
    return rows


def _target(binary: Binary, row: int) -> int:
    _, kind, addend = _RELA.unpack(binary.load(row, _RELA.size))
    if kind & 0xFFFFFFFF == _R_RELATIVE:
        return int(addend)
    if kind & 0xFFFFFFFF == _R_64:
        symbol = binary.dynamic["DT_SYMTAB"] + 24 * (kind >> 32)
        return binary.load_word(symbol + 8) + int(addend)
    raise ValueError(f"a wrapper has a relocation of kind {kind & 0xFFFFFFFF}")


class AllowedWords:
    """Words outside the device code that a moved bundle may, and must, change."""

    def __init__(self, old: Binary, moves: Mapping[int, int], hole: range) -> None:
        self._old, self._moves, self._hole = old, moves, hole

    def explains(self, address: int, new_word: int) -> bool:
        """May the word at `address` hold `new_word` instead of what it held?"""
        if address in self._header_words:
            return True
        if address in self._symbol_sizes:
            return True
        return address in self._pointer_words and self._moves.get(self._old.load_word(address)) == new_word

    @cached_property
    def _header_words(self) -> frozenset[int]:
        """ELF header and program headers: they are compared field by field."""
        first = next(one for one in self._old.segments if one["p_type"] == "PT_LOAD" and one["p_offset"] == 0)
        start, table, count = first["p_vaddr"], self._old.header["e_phoff"], len(self._old.segments)
        return frozenset((*range(start, start + 64, 8), *range(start + table, start + table + 56 * count, 8)))

    @cached_property
    def _pointer_words(self) -> frozenset[int]:
        slots = find_wrappers(self._old)
        rows = find_rows(self._old, slots)
        return frozenset((*slots, *(row + 16 for row in rows.values()), *(place + 8 for place in self._symbols)))

    @cached_property
    def _symbol_sizes(self) -> frozenset[int]:
        return frozenset(place + 16 for place in self._symbols)

    @cached_property
    def _symbols(self) -> tuple[int, ...]:
        """Addresses of the dynamic symbols of bundles."""
        return tuple(self._find_symbols())

    def _find_symbols(self) -> Iterator[int]:
        section = self._old.sections.get(".dynsym")
        index = self._old.sections[".hip_fatbin"]["index"]
        if section is None:
            return
        table = self._old.load(section["sh_addr"], section["sh_size"])
        for number, (_, _, _, holder, address, _) in enumerate(struct.iter_unpack("<IBBHQQ", table)):
            if holder == index and address in self._hole:
                yield section["sh_addr"] + 24 * number
