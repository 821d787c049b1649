"""Artifact + Store → Partial: a download under way, locked, resumable; the artifact itself once it is whole."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rockiln.artifact import Artifact
from rockiln.disk import disk_faults_named
from rockiln.errors import DiskError, IntegrityError
from rockiln.store import CHUNK_BYTES, FILE_MODE, Store, require_match

POLL_S = 0.2
"""How often to look whether the process that holds the lock is done."""


class Partial:
    """An open .part file beside the artifact's final place. Its first bytes may come from an earlier process.

    A second small file remembers which place sent them, and the validator (ETag) it gave, for If-Range.
    """

    def __init__(self, artifact: Artifact, store: Store, descriptor: int) -> None:
        self.artifact = artifact
        self.size_bytes = 0
        self._final_path = store.path_of(artifact)
        self._path = part_path(artifact, store)
        self._descriptor = descriptor
        self._digest = hashlib.sha256()
        self._read_what_is_there()

    @property
    def is_whole(self) -> bool:
        """Whether there are as many bytes as the lock says."""
        return self.size_bytes == self.artifact.size_bytes

    def append(self, chunk: bytes) -> None:
        """Write and hash; a full disk removes the file, since it could not be finished."""
        try:
            with disk_faults_named(self._path.parent, self.artifact.size_bytes - self.size_bytes):
                _write_all(self._descriptor, chunk)
        except DiskError:
            self.remove()
            raise
        self._digest.update(chunk)
        self.size_bytes += len(chunk)

    def restart(self) -> int:
        """Throw away what is there; returns how many bytes that were."""
        thrown_bytes, self.size_bytes = self.size_bytes, 0
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        self._digest = hashlib.sha256()
        self._origin_path.unlink(missing_ok=True)
        return thrown_bytes

    def seal(self, origin: str) -> None:
        """Give the file its final name; raises IntegrityError, and starts over, if it is not the artifact."""
        try:
            require_match(self.artifact, (self._digest.hexdigest(), self.size_bytes), origin)
        except IntegrityError:
            self.restart()
            raise
        with disk_faults_named(self._path.parent):
            os.fchmod(self._descriptor, FILE_MODE)
            self._path.replace(self._final_path)
        self._origin_path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Keep nothing."""
        self._path.unlink(missing_ok=True)
        self._origin_path.unlink(missing_ok=True)

    def remember_origin(self, url: str, validator: str) -> None:
        """Note who sends these bytes. Only a hash of `url` is written: it may hold credentials."""
        if validator:
            self._origin_path.write_text(f"{_hash_text(url)} {validator}", encoding="utf-8")
        else:
            self._origin_path.unlink(missing_ok=True)

    def validator_for(self, url: str) -> str:
        """The validator that `url` gave for the bytes that are there; "" if they come from elsewhere."""
        try:
            origin, _, validator = self._origin_path.read_text(encoding="utf-8").partition(" ")
        except (OSError, UnicodeDecodeError):
            return ""
        return validator if origin == _hash_text(url) else ""

    @property
    def _origin_path(self) -> Path:
        return self._path.with_suffix(".origin")

    def _read_what_is_there(self) -> None:
        if os.fstat(self._descriptor).st_size > self.artifact.size_bytes:
            self.restart()
            return
        while chunk := os.read(self._descriptor, CHUNK_BYTES):
            self._digest.update(chunk)
            self.size_bytes += len(chunk)


@contextmanager
def open_partial(artifact: Artifact, store: Store, pause: Callable[[float], None]) -> Iterator[Partial | None]:
    """Lock the artifact's part file, waiting by `pause` for other processes; None if one of them finished it."""
    path = part_path(artifact, store)
    with disk_faults_named(path.parent, artifact.size_bytes):
        path.parent.mkdir(parents=True, exist_ok=True)
    while (descriptor := _try_lock(path)) < 0:
        pause(POLL_S)
    try:
        if store.holds(artifact):  # finished by another process, between our look and our lock
            path.unlink(missing_ok=True)
            yield None
        else:
            yield Partial(artifact, store, descriptor)
    finally:
        os.close(descriptor)


def part_path(artifact: Artifact, store: Store) -> Path:
    """Where the bytes gather."""
    return store.path_of(artifact).with_suffix(".part")


def part_bytes(artifact: Artifact, store: Store) -> int:
    """How many bytes an earlier process left."""
    try:
        return part_path(artifact, store).stat().st_size
    except OSError:
        return 0


def _try_lock(path: Path) -> int:
    """A descriptor that holds the lock, or -1. The file may be renamed while we wait: only its own name counts."""
    with disk_faults_named(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.stat().st_ino == os.fstat(descriptor).st_ino:
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return -1


def _write_all(descriptor: int, chunk: bytes) -> None:
    view = memoryview(chunk)
    while view:
        view = view[os.write(descriptor, view) :]


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
