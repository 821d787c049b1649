"""Compressed bundles of all versions and both methods: read, refused, packed again."""

from __future__ import annotations

import struct

import pytest

from fat_files import HOST_ID, compress_bundle, entry_id, make_bundle
from rockiln.fatbin.byte_source import ByteSource
from rockiln.fatbin.compressed import CompressedBundle, make_spool, pack, read_compressed, unpack
from rockiln.fatbin.refusal import RefusedError

RAW = make_bundle([(HOST_ID, b""), (entry_id("gfx942"), bytes(range(256)) * 100), (entry_id("gfx1100"), b"b" * 9000)])
KINDS = [(version, method) for version in (1, 2, 3) for method in ("zstd", "zlib")]


def read(content: bytes, start: int = 0) -> tuple[CompressedBundle, bytes]:
    """The header, and the raw bundle."""
    with make_spool() as file, make_spool() as spool:
        file.write(content)
        file.flush()
        source = ByteSource(file.fileno())
        header = read_compressed(source, start, len(content))
        raw = unpack(source, header, spool)
        return header, raw.read(0, raw.size_bytes)


@pytest.mark.parametrize(("version", "method"), KINDS)
def test_bundle_is_unpacked_and_its_end_is_found(version: int, method: str) -> None:
    content = compress_bundle(RAW, version, method)
    header, raw = read(b"before" + content + b"CCOB behind", 6)
    assert raw == RAW
    assert (header.version, header.start, header.size_bytes) == (version, 6, len(content))


@pytest.mark.parametrize(("version", "method"), KINDS)
def test_packed_bundle_is_read_again_in_its_own_version(version: int, method: str) -> None:
    like, _ = read(compress_bundle(RAW, version, method))
    smaller = RAW[:8192]
    with make_spool() as spool:
        spool.write(b"what is there already")
        head, body_bytes = pack(iter([smaller[:100], smaller[100:]]), len(smaller), like, spool)
        spool.seek(21)
        header, raw = read(head + spool.read(body_bytes))
    assert raw == smaller
    assert (header.version, header.method) == (like.version, like.method)


def test_packing_twice_gives_the_same_bytes() -> None:
    like, _ = read(compress_bundle(RAW, 3))
    packed = []
    for _ in range(2):
        with make_spool() as spool:
            head, _ = pack(iter([RAW]), len(RAW), like, spool)
            spool.seek(0)
            packed.append(head + spool.read())
    assert packed[0] == packed[1]


def changed(content: bytes, place: int, new: bytes) -> bytes:
    return content[:place] + new + content[place + len(new) :]


V1, V2, V3 = (compress_bundle(RAW, version) for version in (1, 2, 3))
ZLIB = compress_bundle(RAW, 2, "zlib")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (V3[:7], "no compressed bundle"),
        (V3[:20], "cut short"),
        (V3[:-1], "cut short"),
        (V1[:-1], "cut short"),
        (ZLIB[:-1], "cut short"),
        (changed(V2, 4, b"\4"), "unknown version 4"),
        (changed(V2, 6, b"\2"), "unknown method 2"),
        (changed(V2, 8, struct.pack("<I", len(V2) - 1)), "wrong size"),
        (changed(V3, 8, struct.pack("<Q", len(V3) + 1)) + b"x", "wrong size"),
        (changed(V2, 12, struct.pack("<I", len(RAW) - 1)), "unpacks to more"),
        (changed(V2, 12, struct.pack("<I", len(RAW) + 1)), "unpacks to less"),
        (changed(V3, 24, b"\0\0\0\0"), "does not match its hash"),
        (changed(V3, 32, b"\0"), "holds no zstd frame"),
        (changed(ZLIB, 24, b"\0\0"), "cannot be unpacked"),
    ],
)
def test_compressed_bundle_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        read(content)


def test_bomb_stops_at_the_size_that_the_header_tells() -> None:
    bomb = compress_bundle(bytes(1 << 28), 3)
    with pytest.raises(RefusedError, match="unpacks to more"):
        read(changed(bomb, 16, struct.pack("<Q", 4096)))
