"""Writing a file → the file, or DiskError that says where, how much room is needed and how much there is."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rockiln.console import printable
from rockiln.errors import DiskError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_REFUSED = frozenset({errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR})


@contextmanager
def disk_faults_named(path: Path, needed_bytes: int = 0, *, hint: str = "") -> Iterator[None]:
    """Turn a full or unwritable disk, met while writing at `path`, into DiskError; other errors pass through.

    `hint` is for places that are neither in the cache nor in the project.
    """
    try:
        yield
    except OSError as fault:
        if fault.errno in _FULL:
            raise make_full_error(path, needed_bytes, hint) from fault
        if fault.errno in _REFUSED:
            message = f"{printable(str(path))}: cannot write: {os.strerror(fault.errno or 0)}"
            raise DiskError(message, hint=hint or _FOLDER_HINT) from fault
        raise


def free_bytes(path: Path) -> int:
    """Room left for us on the disk that holds `path`, or would hold it."""
    existing = next(place for place in (path, *path.parents) if place.exists())
    facts = os.statvfs(existing)
    return facts.f_bavail * facts.f_frsize


def require_room(path: Path, needed_bytes: int) -> None:
    """Stop before starting when the disk cannot hold `needed_bytes` more."""
    if needed_bytes > free_bytes(path):
        raise make_full_error(path, needed_bytes)


def write_whole(path: Path, content: bytes, mode: int = 0o644, *, hint: str = "") -> None:
    """Write in one step: a reader sees the old file or the new one. What a killed process left is written over."""
    with disk_faults_named(path, len(content), hint=hint):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial_path = path.with_name(f".{path.name}.partial")
        with _open_alone(partial_path) as file:
            try:
                file.write(content)
                file.flush()
                os.fchmod(file.fileno(), mode)
                partial_path.replace(path)
            except BaseException:
                partial_path.unlink(missing_ok=True)
                raise


def write_named(path: Path, content: bytes, *, hint: str = "") -> None:
    """The same for a place that a user named: a link stays a link, and a device, a pipe and /dev/stdout are written to.

    Not for names out of images and packages, whose links may lead anywhere.
    """
    if not _is_stream(path):
        write_whole(path.resolve(), content, hint=hint)
        return
    with disk_faults_named(path, len(content), hint=hint), path.open("ab") as stream:
        stream.write(content)


def _is_stream(path: Path) -> bool:
    """Something other than a regular file is there, or it is this process's own by /proc, as /dev/stdout is."""
    leads = (path.parent.resolve(), *((path.readlink(),) if path.is_symlink() else ()))
    return path.exists() and (not path.is_file() or any(lead.is_relative_to("/proc") for lead in leads))


@contextmanager
def _open_alone(path: Path) -> Iterator[BinaryIO]:
    """The file, empty and ours: who comes second waits, and then finds that the name stands for another file."""
    while True:
        with path.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if _is_named(path, file.fileno()):
                file.truncate(0)
                yield file
                return


def _is_named(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def make_full_error(path: Path, needed_bytes: int = 0, hint: str = "") -> DiskError:
    """The error that says so, and how much is free."""
    needed = f", {needed_bytes} bytes are needed" if needed_bytes else ""
    message = f"{printable(str(path))}: the disk is full: {free_bytes(path)} bytes are free{needed}"
    return DiskError(message, hint=hint or _ROOM_HINT)


_FOLDER_HINT = "give the folder to this user, or choose others with --cache and --project"
_ROOM_HINT = "make room, or put the cache on another disk: ROCKILN_CACHE=FOLDER"
