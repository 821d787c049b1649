"""An open file → Elf: the headers of a 64-bit x86 ELF file, as frozen values that can be written again."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from rockiln.fatbin.byte_source import ByteSource
from rockiln.fatbin.refusal import RefusedError, require

ET_EXEC, ET_DYN = 2, 3
PT_NULL, PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_PHDR = 0, 1, 2, 3, 4, 6
PT_GNU_PROPERTY = 0x6474E553
SHT_NULL, SHT_SYMTAB, SHT_RELA, SHT_NOBITS, SHT_REL, SHT_DYNSYM = 0, 2, 4, 8, 9, 11
SHF_ALLOC = 2

ELF_HEADER_BYTES = 64
SECTION_HEADERS_AT, SEGMENT_COUNT_AT = 40, 56
"""Offsets of e_shoff and e_phnum."""

_EM_X86_64 = 62
_IDENT = b"\x7fELF\x02\x01\x01"
_HEADER = struct.Struct("<HHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_MAX_NAMES_BYTES = 1 << 22


def _pack(row: struct.Struct, *fields: int) -> bytes:
    try:
        return row.pack(*fields)
    except struct.error:  # only damaged headers hold such addresses
        raise RefusedError("a header would need a number of more than 64 bits") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A program header."""

    kind: int
    flags: int
    offset: int
    address: int
    physical_address: int
    file_bytes: int
    memory_bytes: int
    align: int

    @property
    def end(self) -> int:
        """Offset behind its last byte in the file."""
        return self.offset + self.file_bytes

    def encode(self) -> bytes:
        return _pack(
            _SEGMENT, self.kind, self.flags, self.offset, self.address, self.physical_address, self.file_bytes,
            self.memory_bytes, self.align,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section header, with its name."""

    name: str
    name_offset: int
    kind: int
    flags: int
    address: int
    offset: int
    size_bytes: int
    link: int
    extra: int
    align: int
    entry_bytes: int

    @property
    def end(self) -> int:
        """Offset behind its last byte in the file."""
        return self.offset if self.kind in {SHT_NOBITS, SHT_NULL} else self.offset + self.size_bytes

    def encode(self) -> bytes:
        return _pack(
            _SECTION, self.name_offset, self.kind, self.flags, self.address, self.offset, self.size_bytes, self.link,
            self.extra, self.align, self.entry_bytes,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Elf:
    """What the headers of one file tell."""

    source: ByteSource
    kind: int
    segments_offset: int
    sections_offset: int
    segments: tuple[Segment, ...]
    sections: tuple[Section, ...]

    def sections_named(self, name: str) -> tuple[Section, ...]:
        return tuple(section for section in self.sections if section.name == name)

    def find_offset(self, address: int) -> int:
        """Where in the file the byte at `address` is. Raises RefusedError where it is nowhere."""
        for segment in self.segments:
            if segment.kind == PT_LOAD and 0 <= address - segment.address < segment.file_bytes:
                offset = address - segment.address + segment.offset
                require(offset < self.source.size_bytes, "a segment goes beyond the end of the file")
                return offset
        raise RefusedError(f"address {address:#x} is not in the file")


def read_elf(source: ByteSource) -> Elf | None:
    """The headers; None for a file that is no library or program for x86-64 with section headers."""
    if source.size_bytes < ELF_HEADER_BYTES or source.read(0, len(_IDENT)) != _IDENT:
        return None
    (
        kind, machine, _, _, segments_offset, sections_offset, _, _, segment_bytes, segment_count, section_bytes,
        section_count, names_index,
    ) = _HEADER.unpack(source.read(16, _HEADER.size))  # fmt: skip
    if machine != _EM_X86_64 or kind not in {ET_EXEC, ET_DYN} or not section_count:
        return None
    require(segment_bytes == _SEGMENT.size and section_bytes == _SECTION.size, "headers of an unknown size")
    require(segment_count != 0xFFFF and names_index < section_count, "more headers than ELF files usually have")
    table = source.read(segments_offset, segment_count * _SEGMENT.size)
    segments = tuple(_decode_segment(fields) for fields in _SEGMENT.iter_unpack(table))
    sections = _read_sections(source, sections_offset, section_count, names_index)
    return Elf(
        source=source, kind=kind, segments_offset=segments_offset, sections_offset=sections_offset,
        segments=segments, sections=sections,
    )  # fmt: skip


def _decode_segment(fields: tuple[int, ...]) -> Segment:
    kind, flags, offset, address, physical_address, file_bytes, memory_bytes, align = fields
    return Segment(
        kind=kind, flags=flags, offset=offset, address=address, physical_address=physical_address,
        file_bytes=file_bytes, memory_bytes=memory_bytes, align=align,
    )  # fmt: skip


def _read_sections(source: ByteSource, offset: int, count: int, names_index: int) -> tuple[Section, ...]:
    rows = tuple(_SECTION.iter_unpack(source.read(offset, count * _SECTION.size)))
    names_offset, names_bytes = rows[names_index][4], rows[names_index][5]
    require(names_bytes <= _MAX_NAMES_BYTES, "section names of an unusual size")
    names = source.read(names_offset, names_bytes)
    return tuple(_decode_section(fields, names) for fields in rows)


def _decode_section(fields: tuple[int, ...], names: bytes) -> Section:
    name_offset, kind, flags, address, offset, size_bytes, link, extra, align, entry_bytes = fields
    end = names.find(b"\0", name_offset)
    require(end >= name_offset, "a section without a name")
    return Section(
        name=names[name_offset:end].decode("latin-1"), name_offset=name_offset, kind=kind, flags=flags,
        address=address, offset=offset, size_bytes=size_bytes, link=link, extra=extra, align=align,
        entry_bytes=entry_bytes,
    )  # fmt: skip
