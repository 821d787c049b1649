"""Two Binaries → the words of the memory image in which they differ, and what is loaded differently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rockiln.fatbin.verify.binary import Binary, Header, Range

_CHUNK_BYTES = 1 << 20
_BLOCK_BYTES = 1 << 12
_PAGE_BYTES = 4096
_ADDRESS_LIMIT = 1 << 47
WORD_BYTES = 8

Hole = range
"""Addresses that are not compared: the device code itself."""


def find_outside(binary: Binary) -> Iterator[str]:
    """Segments and sections that go beyond the file, or that no address space holds: nothing else can be asked then."""
    for one in binary.segments:
        if one["p_offset"] + one["p_filesz"] > binary.size_bytes or one["p_vaddr"] + one["p_memsz"] > _ADDRESS_LIMIT:
            yield f"{one['p_type']} at {one['p_vaddr']:#x} goes beyond the file"
    for name, section in binary.sections.items():
        if section["sh_type"] != "SHT_NOBITS" and section["sh_offset"] + section["sh_size"] > binary.size_bytes:
            yield f"section {name} goes beyond the file"


def find_load_faults(old: Binary, new: Binary, hole: Hole) -> Iterator[str]:
    """Is all that was loaded loaded again, with the same rights, and nothing else? Would a loader accept it?"""
    yield from _find_header_faults(new)
    for one in _outside(old.ranges, hole):
        place = one.start
        for other in new.ranges:
            if other.start <= place < other.end:
                if other.flags != one.flags:
                    yield f"rights differ at {place:#x}"
                place = min(other.end, one.end)
        if place < one.end:
            yield f"nothing is loaded at {place:#x}"
    for one in new.ranges:
        if not _is_covered(one, old.ranges):
            yield f"more is loaded at {one.start:#x}"


def _find_header_faults(new: Binary) -> Iterator[str]:
    loads = [one for one in new.segments if one["p_type"] == "PT_LOAD"]
    for one in loads:
        align = max(one["p_align"], _PAGE_BYTES)
        if (one["p_offset"] - one["p_vaddr"]) % align or align & (align - 1):
            yield f"the segment at {one['p_vaddr']:#x} is not aligned"
        if one["p_filesz"] > one["p_memsz"]:
            yield f"the segment at {one['p_vaddr']:#x} is larger in the file than in memory"
    for one, other in pairwise(loads):
        if one["p_vaddr"] + one["p_memsz"] > other["p_vaddr"]:
            yield f"segments overlap at {other['p_vaddr']:#x}"
    for one in new.segments:
        if one["p_type"] != "PT_LOAD" and one["p_filesz"] and one["p_vaddr"] and not _is_where_loaded(one, new.ranges):
            yield f"{one['p_type']} is not where it is loaded"


def _is_where_loaded(segment: Header, ranges: Sequence[Range]) -> bool:
    address, offset = segment["p_vaddr"], segment["p_offset"]
    return any(one.start <= address < one.end and one.offset + address - one.start == offset for one in ranges)


def _is_covered(one: Range, ranges: Sequence[Range]) -> bool:
    place = one.start
    for other in ranges:
        if other.start <= place < other.end:
            place = other.end
    return place >= one.end


def _outside(ranges: Sequence[Range], hole: Hole) -> Iterator[Range]:
    """The ranges without the hole."""
    for one in ranges:
        if one.start < min(one.end, hole.start):
            yield _part(one, one.start, min(one.end, hole.start))
        if max(one.start, hole.stop) < one.end:
            yield _part(one, max(one.start, hole.stop), one.end)


def _part(one: Range, start: int, end: int) -> Range:
    offset = one.offset if one.offset < 0 else one.offset + start - one.start
    return Range(start=start, end=end, offset=offset, flags=one.flags)


def find_differences(old: Binary, new: Binary, hole: Hole) -> Iterator[int]:
    """Addresses, in multiples of eight, of the words that differ outside the hole."""
    for one in _outside(old.ranges, hole):
        for other in new.ranges:
            start, end = max(one.start, other.start), min(one.end, other.end)
            if start < end:
                yield from _compare(old, _part(one, start, end), new, _part(other, start, end))


def _compare(old: Binary, one: Range, new: Binary, other: Range) -> Iterator[int]:
    if one.offset < 0 and other.offset < 0:
        return
    for start in range(one.start, one.end, _CHUNK_BYTES):
        size_bytes = min(_CHUNK_BYTES, one.end - start)
        first, second = (_read(binary, part, start, size_bytes) for binary, part in ((old, one), (new, other)))
        if first != second:
            yield from (place // WORD_BYTES * WORD_BYTES for place in differing_words(first, second, start))


def _read(binary: Binary, part: Range, start: int, size_bytes: int) -> bytes:
    return bytes(size_bytes) if part.offset < 0 else binary.read(part.offset + start - part.start, size_bytes)


def differing_words(first: bytes, second: bytes, start: int) -> Iterator[int]:
    """`start` + position of each byte, one a word at least, that differs."""
    if len(first) != len(second):
        yield start + min(len(first), len(second))
        return
    for block in range(0, len(first), _BLOCK_BYTES):
        one, other = first[block : block + _BLOCK_BYTES], second[block : block + _BLOCK_BYTES]
        if one != other:
            yield from (start + block + place for place in range(len(one)) if one[place] != other[place])
