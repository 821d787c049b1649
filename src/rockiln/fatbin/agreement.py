"""Elf → FatBinary: the bundles of `.hip_fatbin` and the wrappers that lead to them, in exact agreement, or refused.

A wrapper is a `__CudaFatBinaryWrapper` in `.hipFatBinSegment`: magic "HIPF", version 1, a pointer to a bundle, and an
unused word. It is the only way from a program to its device code that is known, so anything else that points into the
section is a reason to leave the file alone.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rockiln.fatbin.elf import ET_EXEC, SHF_ALLOC, SHT_NOBITS, Elf, Section
from rockiln.fatbin.pointers import (
    Pointer,
    SymbolInside,
    find_pointers,
    find_symbols,
    require_no_static_relocations,
)
from rockiln.fatbin.refusal import require
from rockiln.fatbin.section import AnyBundle, find_bundles

FATBIN_SECTION = ".hip_fatbin"
WRAPPER_SECTION = ".hipFatBinSegment"
PAGE_BYTES = 4096

_WRAPPER = struct.Struct("<IIQQ")
_ADDRESS_LIMIT = 1 << 47
_HIPF, _HIPK = 0x48495046, 0x4849504B
_POINTER_AT = 8
"""Offset of the pointer in a wrapper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FatBinary:
    """Device code of one ELF file, and all that has to change when it moves."""

    section: Section
    bundles: tuple[AnyBundle, ...]
    pointers: tuple[Pointer, ...]
    symbols: tuple[SymbolInside, ...]

    def address_of(self, bundle: AnyBundle) -> int:
        return bundle.start - self.section.offset + self.section.address


def find_fat_section(elf: Elf) -> Section | None:
    """The section with device code; None where the file has none, or only its header (a file of debug symbols)."""
    sections = [section for section in elf.sections_named(FATBIN_SECTION) if section.kind != SHT_NOBITS]
    require(len(sections) <= 1, "several .hip_fatbin sections")
    return next((section for section in sections if section.size_bytes), None)


def read_fat_binary(elf: Elf, section: Section) -> FatBinary:
    """Bundles, wrappers and symbols of `section`. Raises RefusedError where they do not agree."""
    require(section.flags & SHF_ALLOC, ".hip_fatbin is not loaded")
    require(section.address % PAGE_BYTES == 0, ".hip_fatbin does not start on a page")
    require(section.address + section.size_bytes < _ADDRESS_LIMIT, ".hip_fatbin has an impossible address")
    require_no_static_relocations(elf)
    bundles = find_bundles(elf.source, section.offset, section.end)
    inside = range(section.address, section.address + section.size_bytes)
    wrapped = tuple(_read_wrappers(elf, find_pointers(elf, inside), inside))
    symbols = find_symbols(elf, section)
    fat = FatBinary(section=section, bundles=bundles, pointers=wrapped, symbols=symbols)
    _require_agreement(fat)
    return fat


def _read_wrappers(elf: Elf, pointers: Sequence[Pointer], inside: range) -> Iterator[Pointer]:
    by_place = {pointer.place: pointer for pointer in pointers}
    for place, value in _wrapper_slots(elf):
        yield by_place.pop(place) if place in by_place else _absolute_pointer(elf, place, value, inside)
    stray = sorted(by_place)
    require(not stray, f"{len(stray)} other pointers lead into .hip_fatbin, one of them at {[*stray, 0][0]:#x}")


def _wrapper_slots(elf: Elf) -> Iterator[tuple[int, int]]:
    """(address, value in the file) of each wrapper's pointer."""
    for section in elf.sections_named(WRAPPER_SECTION):
        require(section.kind != SHT_NOBITS and section.size_bytes % _WRAPPER.size == 0, "wrappers of an unknown size")
        rows = _WRAPPER.iter_unpack(elf.source.read(section.offset, section.size_bytes))
        for number, (magic, version, value, unused) in enumerate(rows):
            if not (magic or version or value or unused):
                continue  # a linker's padding
            require(magic != _HIPK, "device code is in a kpack archive (HIPK)")
            require(magic == _HIPF and version == 1, f"wrapper {number} has an unknown magic or version")
            yield section.address + number * _WRAPPER.size + _POINTER_AT, value


def _absolute_pointer(elf: Elf, place: int, value: int, inside: range) -> Pointer:
    """A program that is not relocatable needs no relocation."""
    require(elf.kind == ET_EXEC and value in inside, f"the wrapper at {place:#x} leads nowhere")
    return Pointer(place=place, target=value, patch_offsets=(elf.find_offset(place),))


def _require_agreement(fat: FatBinary) -> None:
    starts: Mapping[int, AnyBundle] = {fat.address_of(bundle): bundle for bundle in fat.bundles}
    targets = {pointer.target for pointer in fat.pointers}
    require(targets <= starts.keys(), "a wrapper leads to no bundle's start")
    orphans = starts.keys() - targets
    require(not orphans, f"{len(orphans)} bundles without a wrapper")
    for symbol in fat.symbols:
        require(symbol.address in starts, f"a symbol leads into the middle of a bundle, at {symbol.address:#x}")
        size_bytes = starts[symbol.address].size_bytes
        require(symbol.size_bytes in {0, size_bytes}, "a symbol's size is not that of its bundle")
