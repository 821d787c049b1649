"""Paths as given → the files to scan, each once, sorted; links to folders are not followed, so no loop is endless."""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hipcompat.errors import FileError
from hipcompat.scan.kinds import find_language, is_other

_LEFT_OUT = frozenset((".git", ".hg", ".svn", "__pycache__", ".tox", ".nox", ".venv", "node_modules", ".mypy_cache"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A regular file that some rule may concern. Without a language it is of a kind that scan does not read."""

    path: str
    language: str
    size_bytes: int


OnClosed = Callable[[OSError], None]


def find_files(
    paths: Iterable[Path], on_closed: OnClosed | None = None, *, left_out: Path | None = None,
    others: Counter[str] | None = None,
) -> tuple[Candidate, ...]:  # fmt: skip
    """Raises FileError for a path that is not there. A file named by itself is C++ where its name says nothing.

    `on_closed` gets the error of each folder that cannot be listed, and of what is called like source and is no file.
    `left_out` is a folder that is not entered: what an earlier translation wrote. `others` counts, by ending, files
    that scan does not read and that may ask for CUDA.
    """
    found: dict[str, Candidate] = {}
    seen: set[tuple[int, int]] = set()
    for path in paths:
        if not os.path.lexists(path):
            raise FileError(f"{path} is not there", hint="name files or folders that exist")
        for candidate, identity in _walk(path, on_closed, left_out):
            if identity not in seen:
                seen.add(identity)
                if candidate.language:
                    found[candidate.path] = candidate
                elif others is not None:
                    others[Path(candidate.path).suffix.lower() or Path(candidate.path).name] += 1
    return tuple(found[key] for key in sorted(found))


def _walk(
    path: Path, on_closed: OnClosed | None, left_out: Path | None
) -> Iterator[tuple[Candidate, tuple[int, int]]]:
    if not path.is_dir():
        yield from _look(str(path), on_closed, is_named=True)
        return
    skipped = _identify(left_out) if left_out else None
    for folder, folders, names in os.walk(path, onerror=on_closed, followlinks=False):
        if skipped and _identify(Path(folder)) == skipped:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
        for name in names:
            yield from _look(str(Path(folder, name)), on_closed, is_named=False)


def _identify(folder: Path) -> tuple[int, int] | None:
    """Device and inode, which are the same however the folder is named; None where it is not there."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _look(
    path: str, on_closed: OnClosed | None, *, is_named: bool
) -> Iterator[tuple[Candidate, tuple[int, int]]]:
    language = find_language(Path(path))
    if not language and not is_other(Path(path), is_named=is_named):
        if not is_named:
            return
        language = "cuda"
    try:
        status = Path(path).stat()
        fault = None if stat.S_ISREG(status.st_mode) else OSError(errno.EINVAL, "no regular file", path)
    except OSError as error:  # a link to nowhere or to itself, or a folder that was closed meanwhile
        fault = error
    if fault and on_closed:
        on_closed(fault)
    elif not fault:
        yield Candidate(path=path, language=language, size_bytes=status.st_size), (status.st_dev, status.st_ino)
