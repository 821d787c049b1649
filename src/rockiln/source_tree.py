"""A folder of sources → sha256: the same for the same files, whatever the clone, the clock or git."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

_CACHES = frozenset(
    {".git", ".venv", ".nox", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache", "__pycache__"}
)
_BUILT = frozenset({"build", "dist"})
"""Left out at the top of a distribution only: further down they may be sources."""


def hash_tree(path: Path) -> str:
    """The hash of all files of a folder."""
    return hash_files((found.relative_to(path).as_posix(), found) for found in list_tree(path))


def hash_files(files: Iterable[tuple[str, Path]]) -> str:
    """Hash every file's name, executable bit and content; a symlink counts as its target text."""
    digest = hashlib.sha256()
    for name, path in sorted(files):
        if path.is_symlink():
            kind, content = "link", str(path.readlink()).encode()
        else:
            kind = "program" if path.stat().st_mode & 0o100 else "file"
            content = path.read_bytes()
        digest.update(f"{kind} {len(name.encode())} {name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def list_tree(path: Path, left_out: frozenset[str] = frozenset()) -> Iterator[Path]:
    """The files of a folder, without caches, and without `left_out` and what is built at its top."""
    for entry in path.iterdir():
        if entry.name not in _CACHES | _BUILT | left_out:
            yield from _walk(entry)


def _walk(path: Path) -> Iterator[Path]:
    if path.is_symlink() or path.is_file():
        yield path
    elif path.is_dir():
        for entry in path.iterdir():
            if entry.name not in _CACHES:
                yield from _walk(entry)
