"""Rootfs + strip rules → Rootfs whose libraries carry no symbol and debug tables, and which these are.

Loaders never read these tables: they lie behind everything that is mapped, and only section headers lead to them. So
everything up to the first table stays as it is, byte for byte, and what follows it moves up. A file that is built in
another way is left alone. RECORD files say what is left.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rockiln.contents import Content, Contents
from rockiln.fatbin.byte_source import ByteSource
from rockiln.fatbin.elf import (
    ELF_HEADER_BYTES,
    SECTION_HEADERS_AT,
    SHF_ALLOC,
    SHT_NULL,
    SHT_REL,
    SHT_RELA,
    SHT_SYMTAB,
    Elf,
    Section,
    read_elf,
)  # fmt: skip
from rockiln.fatbin.refusal import RefusedError, require
from rockiln.installed_lists import change_contents
from rockiln.manifest import Entry
from rockiln.rootfs import Rootfs
from rockiln.sealed import read_sealed, write_sealed
from rockiln.slim import compile_globs
from rockiln.slim_rules import StripRule

FORMAT = 1
"""Part of the names of remembered results: raised when the same library is stripped in another way."""

LIBRARY = re.compile(r"\.so(\.[0-9.]+)?$")
LEAST_BYTES = 4096
"""A library that would lose less is left as it is."""

SECTION_COUNT_AT = 60
SECTION_HEADER_BYTES = 64
SHT_SYMTAB_SHNDX, SHF_INFO_LINK = 18, 0x40


@dataclass(frozen=True, slots=True, kw_only=True)
class StrippedFile:
    """A library that lost its tables, and the first rule that names it."""

    path: str
    owner: str
    rule: str
    before_bytes: int
    after_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stripped:
    """The tree with stripped libraries, and a row for each, by path."""

    rootfs: Rootfs
    files: tuple[StrippedFile, ...] = ()


def strip_symbols(
    rootfs: Rootfs, rules: Sequence[StripRule], contents: Contents, cache_path: Path
) -> Stripped:
    """The tree with each library that a rule names stripped; results are remembered below `cache_path`."""
    stripped: dict[str, Content] = {}
    files = []
    for entry, rule in _find_libraries(rootfs.entries.values(), rules):
        if content := _strip_content(entry, contents, cache_path):
            stripped[entry.path] = content
            files.append(StrippedFile(
                path=entry.path, owner=entry.owner, rule=rule,
                before_bytes=entry.size_bytes, after_bytes=content.size_bytes,
            ))  # fmt: skip
    if not stripped:
        return Stripped(rootfs=rootfs)
    left = replace(rootfs, entries=change_contents(rootfs.entries, stripped, contents))
    return Stripped(rootfs=left, files=tuple(sorted(files, key=lambda file: file.path)))


def _find_libraries(entries: Iterable[Entry], rules: Sequence[StripRule]) -> Iterator[tuple[Entry, str]]:
    """With the name of the first rule that names it."""
    compiled = [(rule.rule, compile_globs(rule.owners), compile_globs(rule.keep)) for rule in rules]
    for entry in entries:
        if entry.kind != "file" or not LIBRARY.search(entry.path):
            continue
        for rule, owners, keep in compiled:
            if owners.fullmatch(entry.owner) and not keep.fullmatch(entry.path):
                yield entry, rule
                break


def _strip_content(entry: Entry, contents: Contents, cache_path: Path) -> Content | None:
    """The stripped library, or None where there is nothing to strip."""
    with contents.open(entry.sha256) as file:
        source = ByteSource(file.fileno())
        try:
            elf = read_elf(source)
            cut = plan_strip(elf) if elf else None
        except RefusedError:
            return None
        if cut is None:
            return None
        record_path = cache_path / "stripped" / f"{entry.sha256}-{FORMAT}.json"
        if known := read_sealed(record_path):
            content = Content(*json.loads(known))
            if contents.holds(*content):
                return content
        contents.check(entry.sha256)  # what is made of a damaged library would look like any other
        content = contents.put(cut.pieces(source))
        write_sealed(record_path, json.dumps(content).encode())
        return content


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """How the new file is put together: `kept_bytes` of the old one, under a new header; then `tail` and headers."""

    header: bytes
    kept_bytes: int
    tail: tuple[tuple[Section, int], ...]
    """Sections that move, and where to."""
    headers_offset: int
    headers: bytes

    def pieces(self, source: ByteSource) -> Iterator[bytes]:
        """The bytes of the new file."""
        yield self.header
        yield from source.chunks(len(self.header), self.kept_bytes)
        place = self.kept_bytes
        for section, offset in self.tail:
            yield bytes(offset - place)
            yield from source.chunks(section.offset, section.end)
            place = offset + section.end - section.offset
        yield bytes(self.headers_offset - place)
        yield self.headers


def plan_strip(elf: Elf) -> Strip | None:
    """What to write; None for too little to gain. Raises RefusedError for a file that is built in an unusual way."""
    mapped_end = max((segment.end for segment in elf.segments if segment.file_bytes), default=0)
    gone = _find_tables(elf, mapped_end)
    if sum(elf.sections[index].size_bytes for index in gone) < LEAST_BYTES:
        return None
    start = min(elf.sections[index].offset for index in gone)
    headers_end = elf.sections_offset + len(elf.sections) * SECTION_HEADER_BYTES
    require(elf.source.size_bytes <= max(headers_end, *(section.end for section in elf.sections)), "data at the end")
    require(elf.segments_offset < start, "program headers behind the tables")
    last_mapped = max(index for index, section in enumerate(elf.sections) if section.flags & SHF_ALLOC)
    require(last_mapped < min(gone), "tables before mapped sections: symbols know sections by their numbers")
    return _lay_out(elf, gone, start)


def _find_tables(elf: Elf, mapped_end: int) -> set[int]:
    """Numbers of the sections to leave out: symbol tables, their strings, debug sections."""
    gone: set[int] = set()
    for index, section in enumerate(elf.sections):
        if section.flags & SHF_ALLOC or section.offset < mapped_end:
            continue
        if section.kind == SHT_SYMTAB:
            gone |= {index, section.link}
        elif section.kind == SHT_SYMTAB_SHNDX or section.name.startswith((".debug_", ".zdebug_")):
            gone.add(index)
    require(all(elf.sections[index].offset >= mapped_end for index in gone), "strings of symbols that are mapped")
    return gone


def _lay_out(elf: Elf, gone: set[int], start: int) -> Strip:
    numbers = {index: number for number, index in enumerate(i for i in range(len(elf.sections)) if i not in gone)}
    place, tail, headers = start, [], []
    for index in sorted(numbers, key=lambda i: (elf.sections[i].offset, i)):
        section = elf.sections[index]
        if section.kind != SHT_NULL and section.offset >= start and not section.flags & SHF_ALLOC:
            offset = -(-place // max(section.align, 1)) * max(section.align, 1)
            tail.append((section, offset))
            place = offset + section.end - section.offset
            section = replace(section, offset=offset)
        require(section.end <= start or section.offset >= start, "a section on the border")
        headers.append((numbers[index], _renumber(section, numbers)))
    offset = -(-place // 8) * 8
    header = bytearray(elf.source.read(0, ELF_HEADER_BYTES))
    names_index = struct.unpack_from("<H", header, SECTION_COUNT_AT + 2)[0]
    require(names_index in numbers, "names of sections among the tables")
    struct.pack_into("<Q", header, SECTION_HEADERS_AT, offset)
    struct.pack_into("<HH", header, SECTION_COUNT_AT, len(numbers), numbers[names_index])
    return Strip(
        header=bytes(header), kept_bytes=start, tail=tuple(tail), headers_offset=offset,
        headers=b"".join(section.encode() for _, section in sorted(headers, key=lambda pair: pair[0])),
    )  # fmt: skip


def _renumber(section: Section, numbers: Mapping[int, int]) -> Section:
    """With the new numbers of the sections that it names."""
    has_extra = section.extra and (section.kind in {SHT_REL, SHT_RELA} or section.flags & SHF_INFO_LINK)
    named = {section.link} | ({section.extra} if has_extra else set())
    require(named <= numbers.keys(), f"{section.name} needs a table that would go")
    return replace(
        section, link=numbers[section.link], extra=numbers[section.extra] if has_extra else section.extra
    )
