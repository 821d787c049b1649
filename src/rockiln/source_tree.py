"""A folder of sources → sha256: the same for the same files, whatever the clone, the clock or git."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from packaging.utils import canonicalize_name

_CACHES = frozenset({".git", ".venv", ".pytest_cache", ".mypy_cache", ".ruff_cache", "__pycache__"})
_BUILT = frozenset({"build", "dist"})
"""Left out at the top of a distribution only: further down they may be sources."""


def hash_tree(path: Path) -> str:
    """Hash every file's relative path, executable bit and content; a symlink counts as its target text."""
    digest = hashlib.sha256()
    for file_path in sorted(_list_files(path), key=lambda found: found.relative_to(path).as_posix()):
        name = file_path.relative_to(path).as_posix()
        if file_path.is_symlink():
            kind, content = "link", str(file_path.readlink()).encode()
        else:
            kind = "program" if file_path.stat().st_mode & 0o100 else "file"
            content = file_path.read_bytes()
        digest.update(f"{kind} {len(name.encode())} {name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def find_distributions(project_path: Path) -> Mapping[str, Path]:
    """This repository's own distributions, name → folder: plugins/*/ and compat/, each with a pyproject.toml."""
    found: dict[str, Path] = {}
    for folder in [*sorted((project_path / "plugins").glob("*")), project_path / "compat"]:
        name = _distribution_name(folder / "pyproject.toml")
        if name:
            found[canonicalize_name(name)] = folder
    return found


def _distribution_name(path: Path) -> str:
    try:
        project = tomllib.loads(path.read_text(encoding="utf-8")).get("project", {})
    except (OSError, tomllib.TOMLDecodeError):
        return ""
    return str(project.get("name", ""))


def _list_files(path: Path) -> Iterator[Path]:
    for entry in path.iterdir():
        if entry.name not in _CACHES | _BUILT:
            yield from _walk(entry)


def _walk(path: Path) -> Iterator[Path]:
    if path.is_symlink() or path.is_file():
        yield path
    elif path.is_dir():
        for entry in path.iterdir():
            if entry.name not in _CACHES:
                yield from _walk(entry)
