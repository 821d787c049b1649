"""Every compression a deb may have, truncated, damaged and as a bomb."""

from __future__ import annotations

import io
import lzma
import os

import pytest
from hostile import COMPRESSIONS

from rockiln.unpack.decompress import DAMAGE, PIECE_BYTES, Section, decompress

DATA = os.urandom(300_000) + bytes(3 << 20)


def section_of(data: bytes) -> Section:
    return Section(io.BytesIO(b"before" + data + b"after"), 6, len(data))


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_bytes_come_back_in_bounded_pieces(suffix: str) -> None:
    pieces = list(decompress(section_of(COMPRESSIONS[suffix](DATA)), suffix))
    assert b"".join(pieces) == DATA
    assert max(map(len, pieces)) <= PIECE_BYTES


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2", ".zst"])
def test_streams_in_a_row_are_one(suffix: str) -> None:
    compress = COMPRESSIONS[suffix]
    assert b"".join(decompress(section_of(compress(b"one ") + compress(b"two")), suffix)) == b"one two"


def test_zeros_between_xz_streams_are_padding() -> None:
    data = lzma.compress(b"one ") + bytes(8) + lzma.compress(b"two") + bytes(4)
    assert b"".join(decompress(section_of(data), ".xz")) == b"one two"


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".lzma", ".bz2"])
def test_truncation_is_noticed(suffix: str) -> None:
    data = COMPRESSIONS[suffix](DATA)[:-7]
    with pytest.raises(DAMAGE):
        list(decompress(section_of(data), suffix))


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".lzma", ".bz2", ".zst"])
def test_garbage_is_damage_and_nothing_else(suffix: str) -> None:
    with pytest.raises(DAMAGE):
        list(decompress(section_of(os.urandom(5000)), suffix))


def test_section_that_reaches_beyond_the_file_is_damage() -> None:
    with pytest.raises(EOFError, match="ends early"):
        list(Section(io.BytesIO(b"short"), 2, 10).chunks())


def test_xz_that_wants_gigabytes_of_memory_is_damage() -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    data = lzma.compress(b"x", lzma.FORMAT_XZ, filters=filters)
    with pytest.raises(lzma.LZMAError, match=r"[Mm]emory"):
        list(decompress(section_of(data), ".xz"))
