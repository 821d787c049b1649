"""An open file → Binary: its ELF structure as pyelftools reads it, and bytes by address as a loader maps them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO

from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile

Header = Mapping[str, Any]
"""A header's fields by their ELF names; pyelftools gives numbers, or names of constants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A piece of the memory image: from the file, or zeros."""

    start: int
    end: int
    offset: int
    """In the file; -1 for zeros."""
    flags: int


def read_at(descriptor: int, size_bytes: int, offset: int) -> bytes:
    """Bytes of an open file; fewer where it ends. Raises ValueError for a place that a damaged header made negative."""
    if size_bytes < 0 or offset < 0:
        raise ValueError(f"{size_bytes} bytes at {offset} of a file")
    return os.pread(descriptor, size_bytes, offset)


@contextmanager
def open_binary(descriptor: int) -> Iterator[Binary]:
    """Read an open file; the descriptor stays open."""
    with os.fdopen(os.dup(descriptor), "rb") as file:
        yield Binary(file)


class Binary:
    """One of the two files; see open_binary."""

    def __init__(self, file: BinaryIO) -> None:
        self.descriptor = file.fileno()
        self.size_bytes = os.fstat(self.descriptor).st_size
        self.elf = ELFFile(file)
        self.header: Header = dict(self.elf.header)
        self.segments: tuple[Header, ...] = tuple(dict(one.header) for one in self.elf.iter_segments())
        self.sections: Mapping[str, Header] = _name_sections(self.elf)

    @cached_property
    def ranges(self) -> tuple[Range, ...]:
        """The memory image, by address."""
        return tuple(sorted(self._map(), key=lambda one: one.start))

    def _map(self) -> Iterator[Range]:
        for one in self.segments:
            if one["p_type"] == "PT_LOAD":
                start, filled, end = one["p_vaddr"], one["p_vaddr"] + one["p_filesz"], one["p_vaddr"] + one["p_memsz"]
                yield Range(start=start, end=filled, offset=one["p_offset"], flags=one["p_flags"])
                yield Range(start=filled, end=end, offset=-1, flags=one["p_flags"])

    @cached_property
    def dynamic(self) -> Mapping[str, int]:
        """Tag → value; NEEDED is not in it."""
        for segment in self.elf.iter_segments():
            if isinstance(segment, DynamicSegment):
                entries = [tag.entry for tag in segment.iter_tags()]
                return {entry.d_tag: entry.d_val for entry in entries if entry.d_tag != "DT_NEEDED"}
        return {}

    def read(self, offset: int, size_bytes: int) -> bytes:
        """Bytes of the file; fewer where it ends."""
        return read_at(self.descriptor, size_bytes, offset)

    def load(self, address: int, size_bytes: int) -> bytes:
        """Bytes of the memory image. Raises ValueError for what is not loaded."""
        for one in self.ranges:
            if one.start <= address and address + size_bytes <= one.end:
                return bytes(size_bytes) if one.offset < 0 else self.read(one.offset + address - one.start, size_bytes)
        raise ValueError(f"address {address:#x} is not loaded")

    def load_word(self, address: int) -> int:
        return int.from_bytes(self.load(address, 8), "little")


def _name_sections(elf: ELFFile) -> dict[str, Header]:
    """Name → header; a number makes a repeated name unique."""
    named: dict[str, Header] = {}
    for number, section in enumerate(elf.iter_sections()):
        name = section.name if section.name not in named else f"{section.name} #{number}"
        named[name] = {**section.header, "index": number}
    return named
