"""Cut → the new file: ranges are copied by the kernel, a temporary name becomes the real one when all is well."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from rockiln.disk import disk_faults_named
from rockiln.fatbin.cut import Cut
from rockiln.fatbin.refusal import require
from rockiln.fatbin.repack import Span

_PREFIX, _SUFFIX = ".", ".rockiln-partial"
_COPY_BYTES = 1 << 26
BESIDE_HINT = (
    "what is new is written beside what is there: make room and let this user write there, or write a copy elsewhere"
    " with --output PATH"
)


def partial_path(path: Path) -> Path:
    """Where the file is until it is whole."""
    return path.with_name(f"{_PREFIX}{path.name}{_SUFFIX}")


def is_partial(name: str) -> bool:
    """Is it what a killed process left?"""
    return name.startswith(_PREFIX) and name.endswith(_SUFFIX)


@contextlib.contextmanager
def open_partial(path: Path) -> Iterator[BinaryIO]:
    """A new file beside `path`, ours alone; gone after the block unless it was renamed. See `finish`."""
    new_path = partial_path(path)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with disk_faults_named(path, hint=BESIDE_HINT), os.fdopen(os.open(new_path, flags, 0o600), "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            require(condition=False, reason="another process is slimming this file")
        try:
            file.truncate(0)
            yield file
        finally:
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(new_path.stat(), os.fstat(file.fileno())):
                    new_path.unlink()


def write_cut(cut: Cut, output: int) -> None:
    """Pieces in order, then patches, at the descriptor `output`."""
    place = 0
    for piece in cut.pieces:
        place = _copy(piece, output, place) if isinstance(piece, Span) else _write(output, piece, place)
    for patch in cut.patches:
        _write(output, patch.content, patch.offset)
    require(os.fstat(output).st_size == cut.after_bytes, "the new file does not have the size that was planned")


def finish(file: BinaryIO, path: Path, like: int) -> None:
    """Give the new file what `like` has (owner, mode, attributes, times) and the name `path`."""
    _take_facts(file.fileno(), like)
    os.fsync(file.fileno())
    partial_path(path).replace(path)


def _take_facts(new: int, old: int) -> None:
    facts, ours = os.fstat(old), os.fstat(new)
    if (facts.st_uid, facts.st_gid) != (ours.st_uid, ours.st_gid):
        with contextlib.suppress(PermissionError):  # not ours to give away: who slims owns the result
            os.fchown(new, facts.st_uid, facts.st_gid)
    os.fchmod(new, facts.st_mode & 0o7777)
    with contextlib.suppress(OSError):  # a file system without attributes
        for name in os.listxattr(old):
            os.setxattr(new, name, os.getxattr(old, name))
    os.utime(new, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def _copy(span: Span, output: int, place: int) -> int:
    os.lseek(output, place, os.SEEK_SET)
    start, end = span.start, span.start + span.size_bytes
    while start < end:
        sent = os.sendfile(output, span.source.descriptor, start, min(_COPY_BYTES, end - start))
        require(sent, "the file was cut short while it was read")
        start += sent
    return place + span.size_bytes


def _write(output: int, content: bytes, place: int) -> int:
    written = 0
    while written < len(content):
        written += os.pwrite(output, content[written:], place + written)
    return place + len(content)
