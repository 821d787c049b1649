"""Contents: whole, named by hash, written once, whatever happens meanwhile."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from leftovers import flip_byte, leave_scratch

from rockiln.contents import HELD_BYTES, Contents
from rockiln.errors import DiskError, IntegrityError


def files_below(path: Path) -> list[Path]:
    """Whatever is there, but for the locks of scratch folders in use."""
    return sorted(found for found in path.rglob("*") if not found.is_dir() and found.suffix != ".lock")


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return Contents(tmp_path / "contents")


def test_nothing_is_made_before_the_first_put(tmp_path: Path) -> None:
    assert not Contents(tmp_path / "contents").holds("0" * 64, 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size_bytes", [0, 1, HELD_BYTES, HELD_BYTES + 1, 3 * HELD_BYTES + 17])
def test_bytes_come_back_under_their_sha256(contents: Contents, size_bytes: int) -> None:
    data = os.urandom(size_bytes)
    chunks = [data[start : start + 65536] for start in range(0, size_bytes, 65536)]
    sha256 = hashlib.sha256(data).hexdigest()
    assert contents.put(chunks) == (sha256, size_bytes)
    assert contents.put_bytes(data) == (sha256, size_bytes)
    assert contents.read_bytes(sha256) == data
    assert contents.holds(sha256, size_bytes)
    assert not contents.holds(sha256, size_bytes + 1)
    assert files_below(contents.path) == [contents.path_of(sha256)]


def test_same_bytes_are_written_once(contents: Contents) -> None:
    sha256, _ = contents.put_bytes(b"same")
    inode = contents.path_of(sha256).stat().st_ino
    contents.put([b"sa", b"me"])
    assert contents.path_of(sha256).stat().st_ino == inode


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_mode_is_0555_whatever_the_umask(contents: Contents, umask: int) -> None:
    contents.put_bytes(b"the folders")
    before = os.umask(umask)
    try:
        sha256, _ = contents.put_bytes(b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(contents.path_of(sha256).stat().st_mode) == 0o555


@pytest.mark.parametrize("length", [1, 3 * HELD_BYTES])
def test_nothing_stays_when_the_chunks_fail(contents: Contents, length: int) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(length // 1024 + 1):
            yield bytes(1024)
        raise ValueError("cut")

    with pytest.raises(ValueError, match="cut"):
        contents.put(chunks())
    assert files_below(contents.path) == []


def test_discarded_content_is_named_when_read(contents: Contents) -> None:
    sha256, _ = contents.put_bytes(b"gone soon")
    contents.discard(sha256)
    contents.discard(sha256)
    with pytest.raises(IntegrityError, match=sha256):
        contents.open(sha256)


def test_truncated_content_is_replaced_by_the_next_put(contents: Contents) -> None:
    sha256, size_bytes = contents.put_bytes(b"whole")
    contents.path_of(sha256).unlink()
    contents.path_of(sha256).write_bytes(b"")
    assert not contents.holds(sha256, size_bytes)
    contents.put_bytes(b"whole")
    assert contents.read_bytes(sha256) == b"whole"


def test_threads_may_put_the_same_bytes_at_once(contents: Contents) -> None:
    data = [os.urandom(10_000) for _ in range(50)]
    start = threading.Barrier(4)

    def put_all() -> None:
        start.wait()
        for piece in data:
            contents.put([piece])

    threads = [threading.Thread(target=put_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert files_below(contents.path) == sorted(contents.path_of(hashlib.sha256(piece).hexdigest()) for piece in data)
    assert all(contents.read_bytes(hashlib.sha256(piece).hexdigest()) == piece for piece in data)


def test_files_of_killed_processes_are_swept_by_the_next(contents: Contents) -> None:
    left_path = leave_scratch(contents.path / "partial")
    contents.put_bytes(b"x")
    assert not left_path.exists()


def test_full_disk_is_a_disk_error_and_leaves_nothing(contents: Contents) -> None:
    contents.put_bytes(b"the folders")
    before = files_below(contents.path)

    def chunks() -> Iterator[bytes]:
        limit = 4 * HELD_BYTES
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        for _ in range(8):
            yield bytes(HELD_BYTES)

    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(DiskError, match="disk is full"):
            contents.put(chunks())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert files_below(contents.path) == before


def test_changed_content_is_named_when_read_or_checked(contents: Contents) -> None:
    sha256, _ = contents.put_bytes(b"whole")
    contents.check(sha256)
    flip_byte(contents.path_of(sha256))
    with pytest.raises(IntegrityError, match=f"{sha256}.*damaged") as read:
        contents.read_bytes(sha256)
    with pytest.raises(IntegrityError, match=f"{sha256}.*damaged") as checked:
        contents.check(sha256)
    assert read.value.sha256 == checked.value.sha256 == sha256
