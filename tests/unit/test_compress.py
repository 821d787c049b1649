"""Blocks compressed in order, decompressed by other people's programs."""

from __future__ import annotations

import functools
import gzip
import hashlib
import random
import subprocess
import threading
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rockiln.compress import choose_scheme, compress_blocks, cut_blocks
from rockiln.image import Compression

GZIP, ZSTD = choose_scheme("gzip"), choose_scheme("zstd")


@functools.cache
def make_bytes(size: int) -> bytes:
    """Half text-like, half noise; the same on every machine."""
    chance = random.Random(7)  # noqa: S311  # data for a test
    words = [chance.randbytes(6).hex().encode() for _ in range(300)]
    text = b" ".join(chance.choice(words) for _ in range(size // 26))
    return (text + chance.randbytes(size))[:size]


def squeeze(data: bytes, compression: Compression, jobs: int = 2, chunk: int = 1 << 20) -> bytes:
    scheme = choose_scheme(compression)
    chunks = (data[start : start + chunk] for start in range(0, len(data), chunk))
    with ThreadPoolExecutor(jobs) as pool:
        return b"".join(compress_blocks(cut_blocks(chunks, scheme.block_bytes), scheme, pool, jobs + 1))


@given(st.lists(st.binary(max_size=20)), st.integers(1, 30))
def test_blocks_have_one_size_and_lose_nothing(chunks: list[bytes], size: int) -> None:
    blocks = list(cut_blocks(chunks, size))
    assert b"".join(blocks) == b"".join(chunks)
    assert all(len(block) == size for block in blocks[:-1])
    assert all(0 < len(block) <= size for block in blocks)


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_jobs_and_chunks_change_nothing(compression: Compression) -> None:
    data = make_bytes(17 << 20)
    outputs = {squeeze(data, compression, jobs, chunk) for jobs, chunk in ((1, 1 << 20), (2, 777_777), (5, 1 << 24))}
    assert len(outputs) == 1


def test_gzip_decompresses_with_python_and_gzip(tmp_path: Path) -> None:
    data = make_bytes(9 << 20)
    blob = squeeze(data, "gzip")
    (tmp_path / "blob.gz").write_bytes(blob)
    assert gzip.decompress(blob) == data
    assert subprocess.run(["gzip", "-dc", tmp_path / "blob.gz"], check=True, capture_output=True).stdout == data


def test_each_gzip_member_holds_four_mebibytes_and_no_time() -> None:
    blob = squeeze(make_bytes(9 << 20), "gzip")
    sizes = []
    while blob:
        assert blob[:10] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
        member = zlib.decompressobj(31)
        sizes.append(len(member.decompress(blob)))
        blob = member.unused_data
    assert sizes == [4 << 20, 4 << 20, 1 << 20]


def test_zstd_decompresses_and_each_frame_says_its_size() -> None:
    import zstandard

    data = make_bytes(17 << 20)
    blob = squeeze(data, "zstd")
    reader = zstandard.ZstdDecompressor().stream_reader(blob, read_across_frames=True)
    assert reader.read(len(data) + 1) == data
    assert zstandard.get_frame_parameters(blob).content_size == 8 << 20


@pytest.mark.parametrize(
    ("compression", "sha256"),
    [
        ("gzip", "5664baa8946cf53a6d5448963528418097dd22c38b39cd4d19edf89b8f0e5604"),
        ("zstd", "f4ac6e1713779516bba890e6d905418b80dc25470358285b6d3c09be6d67e11c"),
    ],
)
def test_output_is_the_known_one(compression: Compression, sha256: str) -> None:
    """Another library version or level, or a CPU that makes a difference, shows here first."""
    assert hashlib.sha256(squeeze(make_bytes(6 << 20), compression)).hexdigest() == sha256


def test_at_most_a_window_of_blocks_is_taken_ahead() -> None:
    taken = 0

    def blocks() -> Iterator[bytes]:
        nonlocal taken
        for _ in range(100):
            taken += 1
            yield bytes(1000)

    with ThreadPoolExecutor(2) as pool:
        output = compress_blocks(blocks(), GZIP, pool, window=3)
        next(output)
        assert taken == 3
        output.close()


def test_compressing_leaves_other_threads_running() -> None:
    """deflate releases the interpreter's lock, so that threads are enough to use every CPU."""
    data = make_bytes(4 << 20)
    finished = threading.Event()
    turns = 0

    def compress() -> None:
        for _ in range(4):
            GZIP.compress(data)
        finished.set()

    thread = threading.Thread(target=compress)
    thread.start()
    while not finished.is_set():
        turns += 1
    thread.join()
    assert turns > 1000


def test_media_types_are_those_of_the_specification() -> None:
    assert GZIP.media_type == "application/vnd.oci.image.layer.v1.tar+gzip"
    assert ZSTD.media_type == "application/vnd.oci.image.layer.v1.tar+zstd"
