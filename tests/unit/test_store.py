"""The store holds whole, verified files or nothing."""

from __future__ import annotations

import hashlib
import itertools
import os
from pathlib import Path

import pytest
from leftovers import leave_scratch

from rockiln.artifact import Artifact
from rockiln.errors import DiskError, IntegrityError
from rockiln.store import Store

BYTES = b"exactly these bytes" * 1000


def artifact_of(content: bytes, path: str = "pool/main/h/hello/hello_2.10-3_amd64.deb") -> Artifact:
    return Artifact(
        kind="deb",
        name="hello",
        version="2.10-3",
        architecture="amd64",
        source="debian",
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        size_bytes=len(content),
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def left_over(store: Store) -> list[str]:
    return sorted(path.name for path in store.path.rglob("*") if path.is_file())


def test_adopted_file_is_held_under_its_hash(store: Store, tmp_path: Path) -> None:
    artifact, file = artifact_of(BYTES), tmp_path / "hello.deb"
    file.write_bytes(BYTES)
    assert not store.holds(artifact)
    path = store.adopt(artifact, file)
    assert path == store.path_of(artifact) == store.path / "sha256" / artifact.sha256[:2] / artifact.sha256
    assert path.read_bytes() == BYTES
    assert store.holds(artifact)
    assert file.exists()
    store.check(artifact)


def test_mode_is_the_same_under_any_umask(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "hello.deb"
    file.write_bytes(BYTES)
    before = os.umask(0o077)
    try:
        path = store.adopt(artifact_of(BYTES), file)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o7777 == 0o444


@pytest.mark.parametrize("content", [b"", BYTES[:-1], BYTES + b"x", BYTES.replace(b"e", b"E", 1)])
def test_other_bytes_are_refused_and_nothing_is_kept(store: Store, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "other.deb"
    file.write_bytes(content)
    with pytest.raises(IntegrityError, match=r"other\.deb: not hello_2\.10-3_amd64\.deb \(hello 2\.10-3 from debian\)"):
        store.adopt(artifact_of(BYTES), file)
    assert left_over(store) == []


def test_endless_stream_is_cut_off(store: Store) -> None:
    with pytest.raises(IntegrityError):
        store.adopt_chunks(artifact_of(BYTES), itertools.repeat(BYTES), origin="endless")
    assert left_over(store) == []


def test_flipped_byte_is_named_and_moved_away(store: Store) -> None:
    artifact = artifact_of(BYTES)
    path = store.adopt_chunks(artifact, [BYTES], origin="test")
    path.chmod(0o644)
    path.write_bytes(b"E" + BYTES[1:])
    assert store.holds(artifact), "a flipped byte does not change the size"
    with pytest.raises(IntegrityError) as caught:
        store.check(artifact)
    assert str(path) in caught.value.message
    assert "hello 2.10-3" in caught.value.message
    aside = store.discard(artifact)
    assert aside is not None
    assert aside.read_bytes().startswith(b"E")
    assert not store.holds(artifact)
    assert store.discard(artifact) is None


def test_truncated_file_is_not_held(store: Store) -> None:
    artifact = artifact_of(BYTES)
    path = store.adopt_chunks(artifact, [BYTES], origin="test")
    path.chmod(0o644)
    os.truncate(path, 5)
    assert not store.holds(artifact)


def test_missing_file_is_an_integrity_error_with_a_command(store: Store) -> None:
    with pytest.raises(IntegrityError, match="not in the store") as caught:
        store.check(artifact_of(BYTES))
    assert "rockiln fetch" in caught.value.hint


def test_unwritable_store_is_a_disk_error(tmp_path: Path) -> None:
    (tmp_path / "store").write_bytes(b"a file where the folder should be")
    with pytest.raises(DiskError, match="cannot write"):
        Store(tmp_path / "store").adopt_chunks(artifact_of(BYTES), [BYTES], origin="test")


def test_file_that_a_killed_process_left_is_removed_by_the_next(store: Store) -> None:
    artifact = artifact_of(BYTES)
    leave_scratch(store.path / "partial")
    store.adopt_chunks(artifact, [BYTES], origin="test")
    assert left_over(store) == [artifact.sha256]
