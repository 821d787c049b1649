"""Paths, ELF facts and small texts of a root file system → Tree: lookups as a process inside would make them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from rockiln.audit.installed.elf_facts import ElfFacts

NodeKind = Literal["file", "directory", "symlink", "hardlink"]
_MAX_LINKS = 40
"""As the kernel has it: https://man7.org/linux/man-pages/man7/path_resolution.7.html"""


class Node(NamedTuple):
    """One path, absolute inside the tree and without the leading slash."""

    path: str
    kind: NodeKind
    mode: int
    size_bytes: int
    link: str
    """Target of a symlink as written; path of the file that a hard link shares."""
    sha256: str
    """Of a file's bytes; "" where nobody asked for it."""


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A root file system as data; nothing of it is on this host under its own name."""

    nodes: Mapping[str, Node]
    elves: Mapping[str, ElfFacts]
    """x86-64 programs and libraries by path."""
    texts: Mapping[str, bytes]
    """Small files that some audit reads, by path."""
    _folders: dict[str, str | None] = field(default_factory=dict, repr=False)

    def resolve(self, path: str) -> str | None:
        """Where `path` leads once every symlink is followed; None where it leads nowhere."""
        folder, name = posixpath.split(path.strip("/"))
        real = self._resolve_folder(folder)
        return None if real is None else self._follow(_join(real, name), _MAX_LINKS)

    def find_file(self, path: str) -> str | None:
        """The regular file that opening `path` opens, by the name of its first hard link."""
        real = self.resolve(path)
        node = self.nodes.get(real) if real else None
        if node is None or node.kind == "directory":
            return None
        return node.link if node.kind == "hardlink" else node.path

    def read(self, path: str) -> bytes | None:
        """Content of a small file that was kept."""
        real = self.find_file(path)
        return self.texts.get(real) if real else None

    def list_folder(self, folder: str) -> tuple[str, ...]:
        """Names in a folder, sorted."""
        real = self.resolve(folder)
        return self._names.get(real, ()) if real is not None else ()

    def walk(self, folder: str) -> Iterator[Node]:
        """Every node below a folder, by path; links are not followed."""
        for name in self.list_folder(folder):
            node = self.nodes[_join(self.resolve(folder) or "", name)]
            yield node
            if node.kind == "directory":
                yield from self.walk(node.path)

    @cached_property
    def _names(self) -> Mapping[str, tuple[str, ...]]:
        names: dict[str, list[str]] = {}
        for path in sorted(self.nodes):
            folder, _, name = path.rpartition("/")
            names.setdefault(folder, []).append(name)
        return {folder: tuple(found) for folder, found in names.items()}

    def _resolve_folder(self, folder: str) -> str | None:
        if folder in self._folders:
            return self._folders[folder]
        self._folders[folder] = None  # what leads back to itself leads nowhere
        real = self._walk_to(folder, _MAX_LINKS)
        self._folders[folder] = real
        return real

    def _walk_to(self, path: str, links_left: int) -> str | None:
        here = ""
        for name in path.split("/"):
            if name in {"", "."}:
                continue
            if name == "..":
                here = posixpath.dirname(here)
                continue
            found = self._follow(_join(here, name), links_left)
            if found is None:
                return None
            here = found
        return here

    def _follow(self, path: str, links_left: int) -> str | None:
        node = self.nodes.get(path)
        if node is None:
            return "" if not path else None
        if node.kind != "symlink":
            return path
        if not links_left:
            return None
        base = "" if node.link.startswith("/") else posixpath.dirname(path)
        return self._walk_to(f"{base}/{node.link}", links_left - 1)


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
