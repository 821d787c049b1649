"""Bytes at an offset → Bundle: the table of a raw `__CLANG_OFFLOAD_BUNDLE__`, and where its code objects lie.

https://clang.llvm.org/docs/ClangOffloadBundler.html#bundled-binary-file-layout
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from rockiln.fatbin.byte_source import ByteSource
from rockiln.fatbin.refusal import RefusedError, require

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
TABLE_LIMIT_BYTES = 4096
"""The runtime looks for the table in a bundle's first 4 KiB only."""
ENTRY_ALIGN_BYTES = 4096

_FIXED_BYTES = len(MAGIC) + 8
_ROW = struct.Struct("<QQQ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One code object, or the empty host entry."""

    id: str
    offset: int
    """From the bundle's start."""
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A raw bundle as it lies in a file."""

    start: int
    size_bytes: int
    entries: tuple[Entry, ...]


def read_bundle(source: ByteSource, start: int, limit: int) -> Bundle:
    """The bundle at `start`, which must end by `limit`. Raises RefusedError unless every byte of it is explained."""
    table = source.read(start, min(TABLE_LIMIT_BYTES, limit - start))
    require(table.startswith(MAGIC), f"no bundle at offset {start:#x}")
    require(len(table) >= _FIXED_BYTES, f"bundle at offset {start:#x} is cut short")
    entries, table_bytes = _read_table(table, start)
    end = max(table_bytes, *(entry.offset + entry.size_bytes for entry in entries))
    require(start + end <= limit, f"bundle at offset {start:#x} goes beyond its section")
    _require_explained(source, start, table_bytes, entries)
    return Bundle(start=start, size_bytes=end, entries=entries)


def _read_table(table: bytes, start: int) -> tuple[tuple[Entry, ...], int]:
    count = int.from_bytes(table[len(MAGIC) : _FIXED_BYTES], "little")
    require(0 < count <= TABLE_LIMIT_BYTES // _ROW.size, f"bundle at offset {start:#x} claims {count} entries")
    entries = []
    place = _FIXED_BYTES
    for _ in range(count):
        require(place + _ROW.size <= len(table), f"table of the bundle at offset {start:#x} exceeds 4 KiB")
        offset, size_bytes, id_bytes = _ROW.unpack_from(table, place)
        place += _ROW.size + id_bytes
        require(place <= len(table), f"table of the bundle at offset {start:#x} exceeds 4 KiB")
        entries.append(Entry(id=_decode_id(table[place - id_bytes : place]), offset=offset, size_bytes=size_bytes))
    require(len({entry.id for entry in entries}) == count, f"bundle at offset {start:#x} has an entry twice")
    return tuple(entries), place


def _decode_id(raw: bytes) -> str:
    text = raw.decode("latin-1")
    require(text.isascii() and text.isprintable() and text, f"entry id {raw!r} is no name")
    return text


def _require_explained(source: ByteSource, start: int, table_bytes: int, entries: Sequence[Entry]) -> None:
    """Code objects neither overlap each other nor the table, and between them is nothing but zeros."""
    place = table_bytes
    for entry in sorted(entries, key=lambda entry: (entry.offset, entry.size_bytes)):
        if not entry.size_bytes:
            continue
        require(entry.offset >= place, f"entries of the bundle at offset {start:#x} overlap")
        gap_start, gap_end = start + place, start + entry.offset
        require(source.skip_zeros(gap_start, gap_end) == gap_end, f"unknown bytes in the bundle at offset {start:#x}")
        place = entry.offset + entry.size_bytes


def lay_out(entries: Sequence[Entry]) -> tuple[tuple[Entry, ...], int]:
    """The same entries packed from the front, each on a 4 KiB boundary, and the size of a bundle of them."""
    table_bytes = _FIXED_BYTES + sum(_ROW.size + len(entry.id) for entry in entries)
    place = align_up(table_bytes)
    laid = []
    for entry in entries:
        place = align_up(place)
        laid.append(Entry(id=entry.id, offset=place, size_bytes=entry.size_bytes))
        place += entry.size_bytes
    return tuple(laid), place


def encode_table(entries: Sequence[Entry]) -> bytes:
    """A bundle's first bytes."""
    rows = (_ROW.pack(entry.offset, entry.size_bytes, len(entry.id)) + entry.id.encode("ascii") for entry in entries)
    table = MAGIC + len(entries).to_bytes(8, "little") + b"".join(rows)
    if len(table) > TABLE_LIMIT_BYTES:
        raise RefusedError("a table of more than 4 KiB would be needed")
    return table


def align_up(number: int, step: int = ENTRY_ALIGN_BYTES) -> int:
    """The next multiple of `step`, or the number itself."""
    return -(-number // step) * step
