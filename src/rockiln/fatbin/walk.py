"""A file or folder → the ELF files in it, hard links together, and the places where installers keep their lists."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rockiln.fatbin.write_cut import is_partial

_MIN_BYTES = 8192
"""A smaller file has no page to give."""


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
    record_paths: tuple[Path, ...]
    """RECORD files of installed wheels."""


def walk_tree(root: Path) -> Tree:
    """Look at every file once. Links are not followed, and other file systems are left out, as /proc is."""
    by_inode: dict[tuple[int, int], list[Path]] = {}
    sizes: dict[tuple[int, int], int] = {}
    records = []
    for entry in _scan(root):
        path = Path(entry)
        if entry.name == "RECORD" and path.parent.suffix == ".dist-info":
            records.append(path)
        facts = entry.stat(follow_symlinks=False)
        if facts.st_size >= _MIN_BYTES and _is_elf(path):
            by_inode.setdefault((facts.st_dev, facts.st_ino), []).append(path)
            sizes[facts.st_dev, facts.st_ino] = facts.st_size
    found = (Found(paths=tuple(sorted(paths)), size_bytes=sizes[key]) for key, paths in by_inode.items())
    elf_files = tuple(sorted(found, key=lambda one: one.paths))
    return Tree(root=root, elf_files=elf_files, record_paths=tuple(sorted(records)))


def walk_file(path: Path) -> Tree:
    """The same for one file."""
    found = Found(paths=(path,), size_bytes=path.stat().st_size)
    return Tree(root=path, elf_files=(found,), record_paths=())


def _scan(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Regular files below `folder`, on its own file system."""
    device = folder.stat().st_dev
    waiting = [str(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.stat(follow_symlinks=False).st_dev == device:
                        waiting.append(entry.path)
                elif entry.is_file(follow_symlinks=False) and not is_partial(entry.name):
                    yield entry


def _is_elf(path: Path) -> bool:
    try:
        with path.open("rb", buffering=0) as file:
            return file.read(4) == b"\x7fELF"
    except PermissionError:
        return True  # what it is will be said when it is opened


def remove_leftovers(root: Path) -> None:
    """Take away what killed processes left; a file in use is locked, and stays."""
    for folder, _, names in os.walk(root):
        for name in filter(is_partial, names):
            path = Path(folder, name)
            with suppress(OSError), path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
