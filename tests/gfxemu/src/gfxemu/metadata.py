"""The AMDGPU metadata note → its kernels' entries, and their values, each of its type and in its range.

Format: LLVM's "User Guide for AMDGPU Backend", "Code Object Metadata": MessagePack.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgpack  # type: ignore[import-untyped]

from gfxemu.faults import BadCodeObject

Entry = Mapping[str, Any]
MOST_ARGUMENT_BYTES = 1 << 20
MOST_THREADS = 1024  # a workgroup; no AMD GPU takes more
MOST_SCRATCH = 1 << 20  # bytes a lane: gfx12's field holds 64 MiB a wave, others hold less
MOST_NUMBER = (1 << 31) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One kernel argument of the metadata."""

    name: str
    kind: str
    offset: int
    size: int


def read_number(entry: Entry, key: str, most: int = MOST_NUMBER, default: int | None = None) -> int:
    """A whole number from 0 to `most`; BadCodeObject if it is missing (without default), or something else."""
    value = entry.get(key, default)
    if type(value) is not int or not 0 <= value <= most:
        raise BadCodeObject(f"metadata: {key} is {value!r}, not a whole number from 0 to {most}")
    return value


def read_name(entry: Entry, key: str, default: str | None = None) -> str:
    """A string; BadCodeObject if it is missing (without default), or something else."""
    value = entry.get(key, default)
    if not isinstance(value, str):
        raise BadCodeObject(f"metadata: {key} is {value!r}, not a string")
    return value


def read_maps(entry: Entry, key: str) -> list[Entry]:
    """A list of maps; BadCodeObject if it is something else."""
    value = entry.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BadCodeObject(f"metadata: {key} is no list of maps")
    return value


def read_arguments(entry: Entry, segment: int) -> Iterator[Argument]:
    """A kernel's arguments; all of them lie in its segment of so many bytes."""
    for item in read_maps(entry, ".args"):
        offset, size = read_number(item, ".offset", segment), read_number(item, ".size", segment)
        if offset + size > segment:
            raise BadCodeObject(f"metadata: an argument ends at {offset + size}, the segment at {segment}")
        yield Argument(
            name=read_name(item, ".name", ""), kind=read_name(item, ".value_kind"), offset=offset, size=size
        )


def read_entries(note: bytes) -> list[Entry]:
    """The kernels' entries of the note."""
    content = msgpack.unpackb(note, strict_map_key=False)
    if not isinstance(content, dict) or "amdhsa.kernels" not in content:
        raise BadCodeObject("metadata: no amdhsa.kernels")
    return read_maps(content, "amdhsa.kernels")
