"""Paths of a layer's members → paths of the image, and what the layer takes away of those below it.

Format: https://github.com/opencontainers/image-spec/blob/main/layer.md#whiteouts.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from collections.abc import Set as AbstractSet
from typing import Any

WHITEOUT = ".wh."
OPAQUE = ".wh..wh..opq"


def clean_path(path: str) -> str:
    """ "./usr/bin/" → "usr/bin". Raises ValueError for a path with ..: no honest layer has one."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise ValueError(f"{path} leads out of the image")
    return "/".join(parts)


class Whiteouts:
    """What the layer's whiteouts name: `removed` paths, and `emptied` folders, of which nothing from below is seen."""

    def __init__(self) -> None:
        self.removed: list[str] = []
        self.emptied: list[str] = []

    def take(self, path: str) -> bool:
        """Is this cleaned path a whiteout? If so it is noted."""
        folder, _, last = path.rpartition("/")
        if last == OPAQUE:
            self.emptied.append(folder)
        elif last.startswith(WHITEOUT):
            self.removed.append(f"{folder}/{last.removeprefix(WHITEOUT)}".lstrip("/"))
        return last.startswith(WHITEOUT)


def forget_covered(
    maps: Iterable[MutableMapping[str, Any]], gone: AbstractSet[str], emptied: Iterable[str]
) -> None:  # fmt: skip
    """Drop from maps by path what is one of `gone` or below it, or within a folder of `emptied`."""
    folders = tuple(f"{folder}/" if folder else "" for folder in emptied)
    for known in maps:
        for path in [path for path in known if path.startswith(folders) or _is_below(path, gone)]:
            del known[path]


def _is_below(path: str, gone: AbstractSet[str]) -> bool:
    while path:
        if path in gone:
            return True
        path = path.rpartition("/")[0]
    return False
