"""Paths as a caller writes them, text or Path, one or several → Path values."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from hipcompat.errors import UsageError

AnyPath = str | os.PathLike[str]
AnyPaths = AnyPath | Iterable[AnyPath]
"""One path, or several: "csrc" is the folder, and not the files c, s, r and c."""


def make_path(given: AnyPath) -> Path:
    """Raises UsageError for "", which pathlib takes for the working directory, TypeError for what is no path."""
    if given == "":
        raise UsageError("a path is empty", hint="name a file or folder; the working directory is .")
    return Path(given)


def list_paths(given: AnyPaths) -> tuple[Path, ...]:
    """In the order given; raises as make_path does."""
    return tuple(map(make_path, (given,) if isinstance(given, str | os.PathLike) else given))
