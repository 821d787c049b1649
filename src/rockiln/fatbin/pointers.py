"""Elf + an address range → every pointer and every symbol that leads into it, with where in the file it is written."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rockiln.fatbin.elf import (
    PT_DYNAMIC,
    SHF_ALLOC,
    SHT_DYNSYM,
    SHT_REL,
    SHT_RELA,
    SHT_SYMTAB,
    Elf,
    Section,
)
from rockiln.fatbin.refusal import RefusedError, require

_DT_RELA, _DT_RELASZ, _DT_RELAENT, _DT_REL, _DT_JMPREL, _DT_PLTRELSZ = 7, 8, 9, 17, 23, 2
_DT_RELRSZ, _DT_RELR = 35, 36
_DT_ANDROID = frozenset({0x6000000F, 0x60000011, 0x6FFFE000})
_R_64, _R_RELATIVE = 1, 8
_R_TLS = frozenset({16, 17, 18, 36})
"""DTPMOD64, DTPOFF64, TPOFF64, TLSDESC: their values are no addresses."""

_RELA = struct.Struct("<QQq")
_SYMBOL = struct.Struct("<IBBHQQ")
_STT_SECTION = 3
_TABLE_CHUNK_BYTES = _RELA.size << 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """One relocated word of the memory image that leads into the range."""

    place: int
    """Address of the word."""
    target: int
    patch_offsets: tuple[int, ...]
    """File offsets of the 8-byte values to change; none where a symbol is what is changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolInside:
    """A symbol whose address is in the range."""

    value_offset: int
    """File offset of its st_value; st_size follows."""
    address: int
    size_bytes: int


def find_pointers(elf: Elf, inside: range) -> tuple[Pointer, ...]:
    """Every relocation that leads into `inside`. Raises RefusedError for a kind that is not known to be a pointer."""
    tags = _read_dynamic(elf)
    require(not _DT_ANDROID & tags.keys() and _DT_REL not in tags, "relocations of an unusual format")
    found = [*_find_rela(elf, tags, inside), *_find_relr(elf, tags, inside)]
    places = [pointer.place for pointer in found]
    require(len(set(places)) == len(places), "a word is relocated twice")
    return tuple(found)


def find_symbols(elf: Elf, holder: Section) -> tuple[SymbolInside, ...]:
    """Every named symbol that is defined in the section `holder`, in both symbol tables."""
    index = elf.sections.index(holder)
    found = []
    for table in elf.sections:
        if table.kind in {SHT_SYMTAB, SHT_DYNSYM}:
            for offset, (_, kind, _, section_index, address, size_bytes) in _read_table(elf, table, _SYMBOL):
                if section_index == index and kind & 15 != _STT_SECTION:
                    found.append(SymbolInside(value_offset=offset + 8, address=address, size_bytes=size_bytes))
    return tuple(found)


def require_no_static_relocations(elf: Elf) -> None:
    """A file linked with --emit-relocs would have to be relocated again by hand."""
    tables = [section for section in elf.sections if section.kind in {SHT_RELA, SHT_REL}]
    require(all(table.flags & SHF_ALLOC for table in tables), "holds static relocations (--emit-relocs)")


def _read_dynamic(elf: Elf) -> dict[int, int]:
    segment = next((segment for segment in elf.segments if segment.kind == PT_DYNAMIC), None)
    if segment is None:
        return {}
    words = struct.iter_unpack("<QQ", elf.source.read(segment.offset, segment.file_bytes // 16 * 16))
    tags: dict[int, int] = {}
    for tag, value in words:
        if not tag:
            break
        tags[tag] = value
    return tags


def _read_table(elf: Elf, table: Section, row: struct.Struct) -> Iterator[tuple[int, tuple[int, ...]]]:
    """(file offset, fields) of each row, a piece of the table at a time."""
    end = table.offset + table.size_bytes // row.size * row.size
    for start in range(table.offset, end, row.size << 15):
        piece = elf.source.read(start, min(row.size << 15, end - start))
        for number, fields in enumerate(row.iter_unpack(piece)):
            yield start + number * row.size, fields


def _find_rela(elf: Elf, tags: dict[int, int], inside: range) -> Iterator[Pointer]:
    require(tags.get(_DT_RELAENT, _RELA.size) == _RELA.size, "relocations of an unusual size")
    values = _symbol_values(elf)
    for address, size_bytes in _rela_tables(tags):
        start = elf.find_offset(address)
        for offset in range(start, start + size_bytes, _TABLE_CHUNK_BYTES):
            piece = elf.source.read(offset, min(_TABLE_CHUNK_BYTES, start + size_bytes - offset))
            yield from _choose_rela(elf, offset, piece, values, inside)


def _rela_tables(tags: dict[int, int]) -> Iterable[tuple[int, int]]:
    """(address, bytes), without the part of DT_RELA that DT_JMPREL repeats."""
    rela = (tags.get(_DT_RELA, 0), tags.get(_DT_RELASZ, 0))
    plt = (tags.get(_DT_JMPREL, 0), tags.get(_DT_PLTRELSZ, 0))
    tables = [table for table in (rela, plt) if table[1]]
    require(all(size_bytes % _RELA.size == 0 for _, size_bytes in tables), "relocations of an unusual size")
    is_repeated = rela[0] <= plt[0] and plt[0] + plt[1] <= rela[0] + rela[1]
    return [rela] if is_repeated and rela[1] else tables


def _choose_rela(elf: Elf, offset: int, piece: bytes, values: array[int], inside: range) -> Iterator[Pointer]:
    low, high = inside.start, inside.stop
    try:
        chosen = [
            (number, place, info, addend)
            for number, (place, info, addend) in enumerate(_RELA.iter_unpack(piece))
            if low <= values[info >> 32] + addend < high or low <= place < high
        ]
    except (IndexError, struct.error):
        raise RefusedError("a relocation names a symbol that does not exist") from None
    for number, place, info, addend in chosen:
        kind, symbol = info & 0xFFFFFFFF, info >> 32
        require(not low <= place < high, "a relocation changes .hip_fatbin itself")
        if kind in _R_TLS:
            continue
        require(kind in {_R_64, _R_RELATIVE}, f"a relocation of kind {kind} leads into .hip_fatbin")
        if symbol:
            require(not addend and kind == _R_64, "a symbol with an offset leads into .hip_fatbin")
            yield Pointer(place=place, target=values[symbol], patch_offsets=())
        else:
            slot = _slot_with(elf, place, addend)
            yield Pointer(place=place, target=addend, patch_offsets=(offset + number * _RELA.size + 16, *slot))


def _slot_with(elf: Elf, place: int, target: int) -> tuple[int, ...]:
    """Some linkers write the value into the word as well: then that is changed too."""
    offset = elf.find_offset(place)
    return (offset,) if int.from_bytes(elf.source.read(offset, 8), "little") == target else ()


def _symbol_values(elf: Elf) -> array[int]:
    """Address by index in the dynamic symbol table; 0 for the null symbol and undefined ones."""
    tables = [section for section in elf.sections if section.kind == SHT_DYNSYM]
    require(len(tables) <= 1, "several dynamic symbol tables")
    values = array("Q", [0])
    for table in tables:
        values = array("Q", (fields[4] for _, fields in _read_table(elf, table, _SYMBOL)))
    return values or array("Q", [0])


def _find_relr(elf: Elf, tags: dict[int, int], inside: range) -> Iterator[Pointer]:
    for place in _relr_places(elf, tags):
        require(place not in inside, "a relocation changes .hip_fatbin itself")
        offset = elf.find_offset(place)
        target = int.from_bytes(elf.source.read(offset, 8), "little")
        if target in inside:
            yield Pointer(place=place, target=target, patch_offsets=(offset,))


def _relr_places(elf: Elf, tags: dict[int, int]) -> Iterator[int]:
    """Addresses of DT_RELR: a word is an address, or a bit map of the 63 words that follow the last one."""
    if not tags.get(_DT_RELRSZ):
        return
    start = elf.find_offset(tags[_DT_RELR])
    place = 0
    for (word,) in struct.iter_unpack("<Q", elf.source.read(start, tags[_DT_RELRSZ] // 8 * 8)):
        if not word & 1:
            yield word
            place = word + 8
            continue
        yield from (place + 8 * bit for bit in range(63) if word >> (bit + 1) & 1)
        place += 8 * 63
