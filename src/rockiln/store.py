"""Artifact + bytes → Store: one file an artifact, named by sha256, there completely or not at all."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from rockiln.artifact import Artifact
from rockiln.disk import disk_faults_named
from rockiln.errors import IntegrityError
from rockiln.scratch import PARTIAL, Scratch

CHUNK_BYTES = 1 << 20

FILE_MODE = 0o444
"""Whatever the umask: nobody edits a file that is named by its hash."""


class Store:
    """A folder of artifacts, safe to share between processes and safe to delete.

    A file appears under its name by a rename, after its hash was verified. It is not fsynced: whoever reads an
    artifact (unpack, bundle) hashes it again, so that a file lost to a power cut is found and fetched anew.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def path_of(self, artifact: Artifact) -> Path:
        """Where the artifact is, or will be."""
        return self._path(artifact.sha256)

    def holds(self, artifact: Artifact) -> bool:
        """Whether it is here with its full size. Cheap: one stat; `check` reads the bytes."""
        try:
            return self.path_of(artifact).stat().st_size == artifact.size_bytes
        except OSError:
            return False

    def adopt(self, artifact: Artifact, file_path: Path) -> Path:
        """Copy a file in, verified; raises IntegrityError and keeps nothing when it is not the artifact."""
        with file_path.open("rb") as file:
            return self.adopt_chunks(artifact, iter(lambda: file.read(CHUNK_BYTES), b""), origin=str(file_path))

    def adopt_chunks(self, artifact: Artifact, chunks: Iterable[bytes], *, origin: str) -> Path:
        """As `adopt`, from a stream; `origin` names it in errors."""
        path = self.path_of(artifact)
        with disk_faults_named(path.parent, artifact.size_bytes), Scratch(self.path / PARTIAL) as folder:
            partial_path = folder / artifact.sha256
            with partial_path.open("xb") as file:
                found = copy_chunks(chunks, file.write, artifact.size_bytes)
                os.fchmod(file.fileno(), FILE_MODE)
            require_match(artifact, found, origin)
            path.parent.mkdir(parents=True, exist_ok=True)
            partial_path.replace(path)
        return path

    def check(self, artifact: Artifact) -> None:
        """Read the whole file and compare; raises IntegrityError naming file and artifact."""
        path = self.path_of(artifact)
        try:
            found = hash_file(path)
        except FileNotFoundError:
            hint = f"fetch it: rockiln fetch; it comes from source {artifact.source!r}"
            message = f"{path}: {artifact.file} is not in the store"
            raise IntegrityError(message, hint=hint, sha256=artifact.sha256) from None
        require_match(artifact, found, str(path))

    def discard(self, artifact: Artifact | str) -> Path | None:
        """Move a damaged file (or that of a sha256) out of the way, so that it is fetched again.

        The last one of each name is kept under damaged/, to be looked at.
        """
        sha256 = artifact if isinstance(artifact, str) else artifact.sha256
        aside = self.path / "damaged" / sha256
        with disk_faults_named(aside):
            aside.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._path(sha256).replace(aside)
            except FileNotFoundError:
                return None
        return aside

    def _path(self, sha256: str) -> Path:
        return self.path / "sha256" / sha256[:2] / sha256


def hash_file(path: Path) -> tuple[str, int]:
    """sha256 and size of a file."""
    digest, size = hashlib.sha256(), 0
    for chunk in read_chunks(path):
        digest.update(chunk)
        size += len(chunk)
    return digest.hexdigest(), size


def read_chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file."""
    with path.open("rb") as file:
        yield from iter(lambda: file.read(CHUNK_BYTES), b"")


def require_match(artifact: Artifact, found: tuple[str, int], origin: str) -> None:
    """Raise IntegrityError unless (sha256, size) are the artifact's."""
    sha256, size_bytes = found
    if (sha256, size_bytes) == (artifact.sha256, artifact.size_bytes):
        return
    message = (
        f"{origin}: not {artifact.file} ({artifact.name} {artifact.version} from {artifact.source}): "
        f"sha256 {sha256}, {size_bytes} bytes; locked are {artifact.sha256}, {artifact.size_bytes} bytes"
    )
    hint = "rockiln fetch --verify finds bad files of the store and fetches them again"
    raise IntegrityError(message, hint=hint, sha256=artifact.sha256)


def copy_chunks(chunks: Iterable[bytes], write: Callable[[bytes], object], limit_bytes: int) -> tuple[str, int]:
    """Write and hash in one pass: sha256 and size. Ends soon after `limit_bytes`, since more cannot be right."""
    digest, size = hashlib.sha256(), 0
    for chunk in chunks:
        digest.update(chunk)
        size += len(chunk)
        write(chunk)
        if size > limit_bytes:
            break
    return digest.hexdigest(), size
