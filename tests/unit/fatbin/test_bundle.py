"""Raw bundles: what is read, what is refused, and that what is written is read again."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fat_files import HOST_ID, PAGE, entry_id, make_bundle
from rockiln.fatbin.bundle import Bundle, Entry, encode_table, lay_out, read_bundle
from rockiln.fatbin.byte_source import ByteSource
from rockiln.fatbin.compressed import make_spool
from rockiln.fatbin.refusal import RefusedError

ENTRIES = [(HOST_ID, b""), (entry_id("gfx942"), b"a" * 5000), (entry_id("gfx1100"), b"b" * 10)]


def read(raw: bytes, start: int = 0, limit: int | None = None) -> Bundle:
    with make_spool() as file:
        file.write(raw)
        file.flush()
        return read_bundle(ByteSource(file.fileno()), start, len(raw) if limit is None else limit)


def with_row(number: int, **changes: int) -> bytes:
    """ENTRIES' bundle with another offset or size in one row of its table."""
    raw = bytearray(make_bundle(ENTRIES))
    place = 32 + sum(24 + len(name) for name, _ in ENTRIES[:number])
    for field, name in enumerate(("offset", "size_bytes", "id_bytes")):
        if name in changes:
            struct.pack_into("<Q", raw, place + 8 * field, changes[name])
    return bytes(raw)


def test_table_tells_ids_offsets_and_sizes() -> None:
    bundle = read(make_bundle(ENTRIES))
    assert [(entry.id, entry.offset, entry.size_bytes) for entry in bundle.entries] == [
        (HOST_ID, PAGE, 0),
        (entry_id("gfx942"), PAGE, 5000),
        (entry_id("gfx1100"), 3 * PAGE, 10),
    ]
    assert bundle.size_bytes == 3 * PAGE + 10


def test_bundle_may_start_anywhere_and_end_early() -> None:
    raw = make_bundle(ENTRIES)
    bundle = read(b"x" * PAGE + raw + b"what follows", PAGE)
    assert bundle.start == PAGE
    assert bundle.size_bytes == 3 * PAGE + 10


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "no bundle"),
        (b"__CLANG_OFFLOAD_BUNDLE__", "cut short"),
        (b"__CLANG_OFFLOAD_BUNDLE__" + bytes(8), "claims 0 entries"),
        (b"__CLANG_OFFLOAD_BUNDLE__" + b"\xff" * 8 + bytes(PAGE), "claims"),
        (make_bundle(ENTRIES)[:60], "exceeds 4 KiB"),
        (make_bundle(ENTRIES)[:PAGE], "goes beyond its section"),
        (make_bundle(ENTRIES)[: 3 * PAGE], "goes beyond its section"),
        (with_row(1, offset=0), "overlap"),
        (with_row(1, size_bytes=2 * PAGE + 1), "overlap"),
        (with_row(1, size_bytes=1 << 63), "goes beyond its section"),
        (with_row(1, offset=(1 << 64) - 1), "goes beyond its section"),
        (with_row(1, id_bytes=1 << 40), "exceeds 4 KiB"),
        (with_row(1, id_bytes=0), "is no name"),
        (with_row(1, size_bytes=4999), "unknown bytes"),
        (make_bundle([ENTRIES[1], ENTRIES[1]]), "has an entry twice"),
        (make_bundle([("gfx\n", b"")]), "is no name"),
        (make_bundle([(f"{number:0100}", b"") for number in range(40)]), "exceeds 4 KiB"),
    ],
)
def test_bundle_is_refused(raw: bytes, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        read(raw)


@given(sizes=st.lists(st.integers(0, 20_000), min_size=1, max_size=8))
def test_what_is_laid_out_is_read_again(sizes: list[int]) -> None:
    entries = [Entry(id=f"id-{number}", offset=0, size_bytes=size) for number, size in enumerate(sizes)]
    laid, size_bytes = lay_out(entries)
    raw = bytearray(size_bytes)
    table = encode_table(laid)
    raw[: len(table)] = table
    bundle = read(bytes(raw))
    assert bundle.entries == laid
    assert bundle.size_bytes == size_bytes
    assert all(entry.offset % PAGE == 0 for entry in laid)


def test_bundle_of_the_host_entry_alone_covers_its_offset() -> None:
    laid, size_bytes = lay_out([Entry(id=HOST_ID, offset=0, size_bytes=0)])
    assert laid[0].offset == size_bytes == PAGE


def test_bundle_on_disk_is_not_read_whole(tmp_path: Path) -> None:
    raw = bytearray(make_bundle([(HOST_ID, b""), (entry_id("gfx942"), b"x")])[:PAGE])
    struct.pack_into("<Q", raw, 32 + 24 + len(HOST_ID) + 8, (1 << 40) - PAGE)
    with (tmp_path / "large").open("w+b") as file:
        file.write(raw)
        file.truncate(1 << 40)
        assert read_bundle(ByteSource(file.fileno()), 0, 1 << 40).size_bytes == 1 << 40
