"""Bytes of unpacked files → Contents: one host file per distinct content, named by its sha256 and by nothing else.

Names that a deb or wheel carries never reach the host file system: they live in manifests, as data. So a hostile name
has nothing to attack, and two owners of the same bytes share one file.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import threading
from collections.abc import Callable, Iterable
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple, Self

from rockiln.disk import disk_faults_named
from rockiln.errors import IntegrityError
from rockiln.scratch import PARTIAL, Scratch

MODE = 0o555
"""Readable and executable by all, writable by nobody: a sandbox may run a content in place."""

HELD_BYTES = 1 << 20
"""Up to here a content is hashed in memory first, so that one already present is never written again."""


class Content(NamedTuple):
    """What `put` returns: the name of the bytes, and how many there are."""

    sha256: str
    size_bytes: int


class Contents:
    """Files by sha256 below one folder. Safe for any number of threads and processes at once.

    A file appears under its name only when it is whole. There is no fsync: after a power cut a file may be short or
    empty; whoever reads a content to ship it hashes it again, and `discard`s one that differs.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder = str(path)
        self._count = itertools.count()
        self._scratch: Scratch | None = None
        self._making = threading.Lock()

    @property
    def path(self) -> Path:
        """The folder of all contents."""
        return self._path

    def path_of(self, sha256: str) -> Path:
        """Where the bytes named `sha256` are, or would be."""
        return Path(self._file(sha256))

    def holds(self, sha256: str, size_bytes: int) -> bool:
        """Whether the content is here, at its full size: a cheap look that does not read it."""
        try:
            return os.stat(self._file(sha256)).st_size == size_bytes  # noqa: PTH116 - 4x slower through Path; asked 25k times
        except OSError:
            return False

    def open(self, sha256: str) -> BufferedReader:
        """The bytes named `sha256`, as a file to read."""
        try:
            return self.path_of(sha256).open("rb")
        except FileNotFoundError as fault:
            hint = "run the command again: what is missing is unpacked anew"
            raise IntegrityError(f"content {sha256} is gone from {self._path}", hint=hint, sha256=sha256) from fault

    def read_bytes(self, sha256: str) -> bytes:
        """The bytes named `sha256`, all at once; IntegrityError where they are others."""
        with self.open(sha256) as file:
            data = file.read()
        self._require(sha256, hashlib.sha256(data))
        return data

    def check(self, sha256: str) -> None:
        """Read a content to its end: before a program is given it that cannot know what it should be."""
        with self.open(sha256) as file:
            self._require(sha256, hashlib.file_digest(file, "sha256"))

    def _require(self, sha256: str, found: hashlib._Hash) -> None:
        if found.hexdigest() != sha256:
            message = f"content {sha256} in {self._path} is damaged"
            raise IntegrityError(message, hint="run the command again: it is unpacked anew", sha256=sha256)

    def discard(self, sha256: str) -> None:
        """Forget a content, e.g. one found to be damaged; unpacking the artifact again brings it back."""
        self.path_of(sha256).unlink(missing_ok=True)

    def put_bytes(self, data: bytes) -> Content:
        """Keep `data`."""
        sha256 = hashlib.sha256(data).hexdigest()
        if not self.holds(sha256, len(data)):
            with disk_faults_named(self._path, len(data)), self._partial() as partial:
                _write_all(partial.descriptor, data)
                partial.finish(self._file(sha256))
        return Content(sha256, len(data))

    def put(self, chunks: Iterable[bytes]) -> Content:
        """Keep the concatenation of `chunks`; memory stays flat. If the iterable raises, nothing is kept."""
        rest = iter(chunks)
        held: list[bytes] = []
        held_bytes = 0
        for chunk in rest:
            held.append(chunk)
            held_bytes += len(chunk)
            if held_bytes > HELD_BYTES:
                return self._put_streaming(itertools.chain(held, rest))
        return self.put_bytes(held[0] if len(held) == 1 else b"".join(held))

    def _put_streaming(self, chunks: Iterable[bytes]) -> Content:
        digest = hashlib.sha256()
        size_bytes = 0
        with self._partial() as partial:
            for chunk in chunks:
                digest.update(chunk)
                size_bytes += len(chunk)
                with disk_faults_named(self._path):
                    _write_all(partial.descriptor, chunk)
            sha256 = digest.hexdigest()
            if not self.holds(sha256, size_bytes):
                with disk_faults_named(self._path):
                    partial.finish(self._file(sha256))
        return Content(sha256, size_bytes)

    def put_written(self, write: Callable[[int], None]) -> Content:
        """Keep what `write` writes at the descriptor that it is given, which may be read too. If it raises: nothing."""
        with disk_faults_named(self._path), self._partial() as partial:
            write(partial.descriptor)
            with os.fdopen(os.dup(partial.descriptor), "rb") as file:
                file.seek(0)
                sha256, size_bytes = hashlib.file_digest(file, "sha256").hexdigest(), file.tell()
            if not self.holds(sha256, size_bytes):
                partial.finish(self._file(sha256))
        return Content(sha256, size_bytes)

    def _partial(self) -> _Partial:
        with self._making:
            self._scratch = self._scratch or self._make_folders()
        return _Partial(f"{self._scratch.path}/{next(self._count)}")

    def _file(self, sha256: str) -> str:
        return f"{self._folder}/{sha256[:2]}/{sha256}"

    def _make_folders(self) -> Scratch:
        """The 256 folders, once, and one for files on their way."""
        scratch = Scratch(self._path / PARTIAL)
        with disk_faults_named(self._path):
            for number in range(256):
                (self._path / f"{number:02x}").mkdir(exist_ok=True)
        return scratch


class _Partial:
    """A file on its way: it gets its name when it is whole, and is gone after the block otherwise."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._is_finished = False

    def __enter__(self) -> Self:
        self.descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
        return self

    def finish(self, path: str) -> None:
        os.fchmod(self.descriptor, MODE)
        os.replace(self._path, path)  # noqa: PTH105 - a str, as in `holds`
        self._is_finished = True

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)
        if not self._is_finished:
            os.unlink(self._path)  # noqa: PTH108 - a str, as in `holds`


def _write_all(descriptor: int, data: bytes) -> None:
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, memoryview(data)[written:])
