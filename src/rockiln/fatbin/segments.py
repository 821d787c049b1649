"""Elf + how much of `.hip_fatbin` is still used → Removal: the pages that go, and the segments without them.

Only file offsets behind the removed pages change, and by whole pages; no address changes. Where something follows the
section in its segment, that segment becomes two, and the second takes the place of a program header that nothing needs:
moving the table instead makes files that GNU strip then breaks.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rockiln.fatbin.agreement import PAGE_BYTES
from rockiln.fatbin.bundle import align_up
from rockiln.fatbin.elf import (
    ET_DYN,
    PT_GNU_PROPERTY,
    PT_INTERP,
    PT_LOAD,
    PT_NOTE,
    PT_NULL,
    PT_PHDR,
    Elf,
    Section,
    Segment,
)
from rockiln.fatbin.refusal import RefusedError, require

_PF_W = 2
_NOTE = struct.Struct("<III")
_NT_ABI_TAG, _NT_BUILD_ID = 1, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """Bytes `start` to `end` of the file go; `segments` take the place of the old ones, as many as before."""

    start: int
    end: int
    segments: tuple[Segment, ...]

    @property
    def size_bytes(self) -> int:
        return self.end - self.start

    def moved(self, offset: int) -> int:
        """Where in the new file is what was at `offset`?"""
        return offset - self.size_bytes if offset >= self.end else offset


def remove_pages(elf: Elf, section: Section, used_bytes: int) -> Removal | None:
    """Take away the whole pages behind the section's first `used_bytes`; None where there is no whole page."""
    holder = _find_holder(elf, section)
    _require_alone(elf, section, holder)
    start, end = align_up(section.offset + used_bytes, PAGE_BYTES), section.end // PAGE_BYTES * PAGE_BYTES
    removal = Removal(start=start, end=end, segments=())
    if removal.size_bytes <= 0:
        return None
    segments = [_shift(segment, removal) for segment in elf.segments]
    index = elf.segments.index(holder)
    if holder.end > section.end:
        victim = _find_dispensable(elf)
        segments[index : index + 1] = _split(holder, section, used_bytes, removal)
        del segments[victim if victim < index else victim + 1]
    else:
        segments[index] = _shorten(holder, section, used_bytes)
    return replace(removal, segments=tuple(segments))


def _find_holder(elf: Elf, section: Section) -> Segment:
    holders = [
        segment
        for segment in elf.segments
        if segment.kind == PT_LOAD and segment.offset < section.end and section.offset < segment.end
    ]
    require(len(holders) == 1, ".hip_fatbin is not in exactly one segment")
    holder = holders[0]
    require(holder.offset <= section.offset and section.end <= holder.end, ".hip_fatbin is partly outside its segment")
    is_congruent = section.address - holder.address == section.offset - holder.offset
    require(is_congruent and section.offset % PAGE_BYTES == 0, ".hip_fatbin is not where its segment is loaded")
    require(holder.file_bytes <= holder.memory_bytes, "a segment is larger in the file than in memory")
    return holder


def _require_alone(elf: Elf, section: Section, holder: Segment) -> None:
    """No other section, segment or header has a byte in the section."""
    spans = [(other.offset, other.end) for other in elf.segments if other is not holder]
    spans += [(other.offset, other.end) for other in elf.sections if other is not section]
    spans += [(elf.segments_offset, elf.segments_offset + 56 * len(elf.segments))]
    spans += [(elf.sections_offset, elf.sections_offset + 64 * len(elf.sections))]
    overlaps = [span for span in spans if span[0] < span[1] and span[0] < section.end and section.offset < span[1]]
    require(not overlaps, "something else lies in .hip_fatbin")


def _shift(segment: Segment, removal: Removal) -> Segment:
    """The segment at its new offset; its alignment is lowered where the offset no longer meets it."""
    moved = replace(segment, offset=removal.moved(segment.offset))
    return _align(moved) if moved.offset != segment.offset else moved


def _align(segment: Segment) -> Segment:
    align = segment.align
    while segment.kind == PT_LOAD and align > PAGE_BYTES and (segment.offset - segment.address) % align:
        align //= 2
    return replace(segment, align=align)


def _split(holder: Segment, section: Section, used_bytes: int, removal: Removal) -> Sequence[Segment]:
    """What comes before the removed pages, and what comes after them at its old address."""
    size_bytes = section.offset + used_bytes - holder.offset
    skipped_bytes = removal.end - holder.offset
    first = replace(holder, file_bytes=size_bytes, memory_bytes=size_bytes)
    second = replace(
        holder,
        offset=removal.start,
        address=holder.address + skipped_bytes,
        physical_address=(holder.physical_address + skipped_bytes) % (1 << 64),
        file_bytes=holder.file_bytes - skipped_bytes,
        memory_bytes=holder.memory_bytes - skipped_bytes,
    )
    return first, _align(second)


def _shorten(holder: Segment, section: Section, used_bytes: int) -> Segment:
    """The section is the last thing in its segment. Zero-initialized memory behind it stays where it is."""
    size_bytes = section.offset + used_bytes - holder.offset
    has_zeros = holder.memory_bytes > holder.file_bytes
    require(not has_zeros or holder.flags & _PF_W, "zero-initialized memory that is not writable")
    return replace(holder, file_bytes=size_bytes, memory_bytes=holder.memory_bytes if has_zeros else size_bytes)


def _find_dispensable(elf: Elf) -> int:
    """Index of a program header that can go.

    The loader needs the table's own one only in programs, and the note that PT_GNU_PROPERTY shows stays visible through
    PT_NOTE. Last comes a PT_NOTE with nothing but a build id or an ABI tag: their sections stay.
    """
    kinds = [segment.kind for segment in elf.segments]
    is_library = elf.kind == ET_DYN and PT_INTERP not in kinds
    for kind in (PT_NULL, *((PT_PHDR,) if is_library else ()), PT_GNU_PROPERTY):
        if kind in kinds:
            return kinds.index(kind)
    for index, segment in enumerate(elf.segments):
        if segment.kind == PT_NOTE and _tells_only_origin(elf.source.read(segment.offset, segment.file_bytes)):
            return index
    raise RefusedError("no program header can be spared to split the segment of .hip_fatbin")


def _tells_only_origin(notes: bytes) -> bool:
    """Are all notes GNU's build id or ABI tag?"""
    place = 0
    while place + _NOTE.size <= len(notes):
        name_bytes, content_bytes, kind = _NOTE.unpack_from(notes, place)
        name = notes[place + _NOTE.size : place + _NOTE.size + name_bytes]
        if name != b"GNU\0" or kind not in {_NT_ABI_TAG, _NT_BUILD_ID}:
            return False
        place += _NOTE.size + align_up(name_bytes, 4) + align_up(content_bytes, 4)
    return place == len(notes)
