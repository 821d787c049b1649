"""LockedTargets + Store ⇄ bundle: one plain tar of the lock and of all its files; targets build from it offline."""

from __future__ import annotations

import os
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from rockiln.artifact import Artifact
from rockiln.compress import compressor_versions
from rockiln.console import Console
from rockiln.disk import disk_faults_named, require_room
from rockiln.errors import FetchError, FileFaultsError, IntegrityError
from rockiln.lock import Lock, LockedTarget
from rockiln.lock_file import read_lock, render_lock
from rockiln.store import CHUNK_BYTES, Store, copy_chunks, read_chunks, require_match
from rockiln.tar_stream import EPOCH_S

LOCK = "matrix.lock"
LOCK_BYTES = 16 << 20
"""No larger lock is read from a bundle; that of all targets together has less than one."""
FILES = "sha256/"
HINT = "copy or make the bundle again: rockiln bundle TARGET --output FILE"


def write_bundle(targets: Sequence[LockedTarget], store: Store, path: Path) -> None:
    """Write the artifacts of `targets`, each verified on the way; the same targets give the same bytes.

    Raises IntegrityError for an artifact that the store does not hold as it should be.
    """
    artifacts = {artifact.sha256: artifact for target in targets for artifact in target.artifacts}
    with disk_faults_named(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    require_room(path.parent, sum(artifact.size_bytes for artifact in artifacts.values()))
    partial_path = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with disk_faults_named(path), partial_path.open("wb") as file:
            _write_member(file, LOCK, _render_lock(targets))
            for _, artifact in sorted(artifacts.items()):
                _write_artifact(file, artifact, store)
            file.write(bytes(2 * tarfile.BLOCKSIZE))
        partial_path.chmod(0o644)
        partial_path.replace(path)
    except BaseException:
        partial_path.unlink(missing_ok=True)
        raise


def read_bundle(path: Path, store: Store, console: Console | None = None) -> Lock:
    """Take in every file that the store does not hold; each is verified before it appears. Returns the bundle's lock.

    `path` is the tar, or a folder into which it was unpacked. Raises FetchError for what is no whole bundle and
    IntegrityError for a file with other bytes; those before it, which were right, stay.
    """
    lock = _parse_lock(path, _read_lock(path))
    wanted = {artifact.sha256: artifact for target in lock.targets.values() for artifact in target.artifacts}
    total_bytes = sum(artifact.size_bytes for artifact in wanted.values())
    with (console or Console(None)).progress("reading bundle", total_bytes, "bytes") as progress:
        for sha256, chunks in _read_files(path):
            artifact = wanted.pop(sha256, None)
            if artifact is None:
                raise FetchError(f"{path}: the bundle holds {sha256}, which its lock does not name", hint=HINT)
            _adopt(artifact, chunks, store, path)
            progress.advance(artifact.size_bytes)
    if wanted:
        names = ", ".join(sorted(artifact.file for artifact in wanted.values()))
        raise FetchError(f"{path}: the bundle lacks {len(wanted)} files of its lock: {names}", hint=HINT)
    return lock


def _render_lock(targets: Sequence[LockedTarget]) -> bytes:
    by_id = {target.target_id: target for target in targets}
    return render_lock(Lock(targets=by_id, unresolved={}, compressors=compressor_versions())).encode()


def _write_member(file: BinaryIO, name: str, content: bytes) -> None:
    file.write(_make_header(name, len(content)))
    file.write(content)
    _write_padding(file, len(content))


def _write_artifact(file: BinaryIO, artifact: Artifact, store: Store) -> None:
    path = store.path_of(artifact)
    if not store.holds(artifact):
        store.check(artifact)
    file.write(_make_header(FILES + artifact.sha256, artifact.size_bytes))
    require_match(artifact, copy_chunks(read_chunks(path), file.write, artifact.size_bytes), str(path))
    _write_padding(file, artifact.size_bytes)


def _make_header(name: str, size_bytes: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = size_bytes, EPOCH_S, 0o444
    return member.tobuf(tarfile.GNU_FORMAT)


def _write_padding(file: BinaryIO, size_bytes: int) -> None:
    file.write(bytes(-size_bytes % tarfile.BLOCKSIZE))


def _adopt(artifact: Artifact, chunks: Iterator[bytes], store: Store, path: Path) -> None:
    if store.holds(artifact):
        return
    try:
        store.adopt_chunks(artifact, chunks, origin=str(path))
    except IntegrityError as fault:
        raise IntegrityError(fault.message, hint=HINT, sha256=artifact.sha256) from fault


def _parse_lock(path: Path, content: bytes) -> Lock:
    with tempfile.TemporaryDirectory() as folder:
        lock_path = Path(folder) / LOCK
        lock_path.write_bytes(content)
        try:
            lock = read_lock(lock_path)
        except FileFaultsError as fault:
            raise FetchError(f"{path}: the bundle's lock is damaged: {fault.message}", hint=HINT) from fault
    artifacts = [artifact for target in lock.targets.values() for artifact in target.artifacts]
    if unnamed := [artifact.file for artifact in artifacts if not artifact.sha256]:
        raise FetchError(f"{path}: the bundle's lock has no sha256 for {', '.join(sorted(unnamed))}", hint=HINT)
    return lock


def _read_lock(path: Path) -> bytes:
    """The lock's text: a bundle's first member."""
    if path.is_dir():
        return b"".join(_read_folder_file(path / LOCK))[:LOCK_BYTES]
    for member in _read_members(path):
        if member.name == LOCK and member.size_bytes <= LOCK_BYTES:
            return b"".join(member.chunks)
        break
    raise FetchError(f"{path}: not a bundle: it does not begin with a {LOCK}", hint=HINT)


def _read_files(path: Path) -> Iterator[tuple[str, Iterator[bytes]]]:
    """sha256 and bytes of each file after the lock."""
    if path.is_dir():
        for file_path in sorted((path / FILES).glob("*")):
            yield file_path.name, _read_folder_file(file_path)
        return
    for member in _read_members(path):
        if member.name.startswith(FILES):
            yield member.name.removeprefix(FILES), member.chunks
        elif member.name != LOCK:
            raise FetchError(f"{path}: not a bundle: it holds {member.name!r}", hint=HINT)


class _Member(NamedTuple):
    """One file of the tar; its bytes are to be read before the next member is asked for."""

    name: str
    size_bytes: int
    chunks: Iterator[bytes]


def _read_members(path: Path) -> Iterator[_Member]:
    """A stricter reader than tarfile: plain files with short names are all that a bundle holds."""
    with _open_bundle(path) as file:
        while (header := file.read(tarfile.BLOCKSIZE)) != bytes(tarfile.BLOCKSIZE):
            name, size_bytes = _parse_header(header, path)
            next_place = file.tell() + size_bytes + -size_bytes % tarfile.BLOCKSIZE
            yield _Member(name, size_bytes, _read_member(file, size_bytes, f"{path}: the bundle ends within {name}"))
            file.seek(next_place)


def _parse_header(header: bytes, path: Path) -> tuple[str, int]:
    if len(header) < tarfile.BLOCKSIZE:
        raise FetchError(f"{path}: the bundle ends early", hint=HINT)
    try:
        member = tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
    except (tarfile.TarError, ValueError) as fault:
        raise FetchError(f"{path}: not a bundle: {fault}", hint=HINT) from fault
    if not member.isreg() or member.size < 0:
        raise FetchError(f"{path}: not a bundle: {member.name!r} is no plain file", hint=HINT)
    return member.name, member.size


def _read_member(file: BinaryIO, size_bytes: int, truncated: str) -> Iterator[bytes]:
    while size_bytes:
        chunk = file.read(min(CHUNK_BYTES, size_bytes))
        if not chunk:
            raise FetchError(truncated, hint=HINT)
        size_bytes -= len(chunk)
        yield chunk


def _read_folder_file(path: Path) -> Iterator[bytes]:
    with _open_bundle(path) as file:
        yield from iter(lambda: file.read(CHUNK_BYTES), b"")


def _open_bundle(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as fault:
        raise FetchError(f"{path}: cannot read the bundle: {fault.strerror}", hint=HINT) from fault
