"""A file or folder → the ELF files and kernel data in it, hard links together, and the lists of installers."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from rockiln.fatbin.notes import is_note, note_path
from rockiln.fatbin.write_cut import is_partial
from rockiln.kernel_data.content import HEAD_BYTES, sniff
from rockiln.kernel_data.judge import is_candidate

_ARCHIVE = re.compile(r".*\.(?:whl|zip|deb|rpm|conda|tar|tgz|txz|tbz2?|tar\.[a-z0-9]+)", re.DOTALL | re.IGNORECASE)
_ARCHIVE_MAGICS = (b"PK\x03\x04", b"!<arch>\ndebian-binary")
_MIN_BYTES = 8192
"""A smaller ELF file has no page to give."""

Kind = Literal["elf", "data"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One file, by all the names it has in the tree; the first is the one to slim."""

    paths: tuple[Path, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """What slimming has to look at."""

    root: Path
    elf_files: tuple[Found, ...]
    data_files: tuple[Found, ...]
    """What rockiln.kernel_data has something to say about."""
    record_paths: tuple[Path, ...]
    """RECORD files of installed wheels; a link is one as well."""
    archives: tuple[Path, ...] = ()
    """Wheels, debs and the like: nothing in them is looked at."""
    note_paths: tuple[Path, ...] = ()
    """What a killed process noted about files that it may have replaced; see rockiln.fatbin.notes."""


def walk_tree(root: Path, named_path: Path) -> Tree:
    """Look at every file once. Links are not followed, and other file systems are left out, as /proc is.

    `named_path` is what the root is called, where it is a copy on its way.
    """
    found: dict[Kind, dict[tuple[int, int], Found]] = {"elf": {}, "data": {}}
    records, notes, archives = [], [], []
    for entry in _scan(root):
        path = Path(entry)
        if entry.name == "RECORD" and path.parent.suffix == ".dist-info":
            records.append(path)
        if is_note(entry.name):
            notes.append(path)
        if is_note(entry.name) or entry.is_symlink():
            continue
        facts = entry.stat(follow_symlinks=False)
        if kind := _find_kind(path, str(named_path / path.relative_to(root)), facts.st_size):
            known = found[kind].get((facts.st_dev, facts.st_ino), Found(paths=(), size_bytes=facts.st_size))
            found[kind][facts.st_dev, facts.st_ino] = replace(known, paths=tuple(sorted((*known.paths, path))))
        elif _ARCHIVE.fullmatch(entry.name):
            archives.append(path)
    elf_files, data_files = (tuple(sorted(one.values(), key=lambda one: one.paths)) for one in found.values())
    return Tree(
        root=root, elf_files=elf_files, data_files=data_files, record_paths=tuple(sorted(records)),
        note_paths=tuple(sorted(notes)), archives=tuple(sorted(archives)),
    )  # fmt: skip


def walk_file(path: Path) -> Tree:
    """The same for one file."""
    found = (Found(paths=(path,), size_bytes=path.stat().st_size),)
    kind = _find_kind(path, str(path), max(found[0].size_bytes, _MIN_BYTES))
    notes = (note,) if (note := note_path(path)).is_file() else ()
    return Tree(
        root=path, elf_files=found if kind == "elf" else (), data_files=found if kind == "data" else (),
        record_paths=(), note_paths=notes, archives=(path,) if not kind and _is_archive(path) else (),
    )  # fmt: skip


def _is_archive(path: Path) -> bool:
    """By name or by content."""
    with path.open("rb", buffering=0) as file:
        return file.read(HEAD_BYTES).startswith(_ARCHIVE_MAGICS) or _ARCHIVE.fullmatch(path.name) is not None


def _scan(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Regular files below `folder`, on its own file system; and links that are called RECORD."""
    device = folder.stat().st_dev
    waiting = [str(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.stat(follow_symlinks=False).st_dev == device:
                        waiting.append(entry.path)
                elif entry.name == "RECORD" or (entry.is_file(follow_symlinks=False) and not is_partial(entry.name)):
                    yield entry


def _find_kind(path: Path, name: str, size_bytes: int) -> Kind | None:
    try:
        with path.open("rb", buffering=0) as file:
            head = file.read(HEAD_BYTES)
    except PermissionError:
        return "elf" if size_bytes >= _MIN_BYTES else None  # what it is will be said when it is opened
    if is_candidate(name, head):
        return "data"
    return "elf" if sniff(head) == "host-elf" and size_bytes >= _MIN_BYTES else None


def remove_leftovers(root: Path) -> None:
    """Take away what killed processes left; a file in use is locked, and stays."""
    for folder, _, names in os.walk(root):
        for name in filter(is_partial, names):
            path = Path(folder, name)
            with suppress(OSError), path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
