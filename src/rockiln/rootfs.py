"""Unpacked artifacts, merged → Rootfs: every path of the image, who owns it, and what was found on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rockiln.manifest import Entry

OwnerClass = Literal["os", "rocm", "python", "wheel", "framework", "plugin", "image"]
"""Order of stability: what changes least comes first, and so do its layers. "image" is what rockiln generates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Who brought a path: a deb, a wheel, or rockiln itself ("rockiln")."""

    name: str
    version: str
    stability: OwnerClass
    origin: str
    """Debian source package or wheel name: owners of one origin change together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something a person should know about the tree, with its place and what to do."""

    rule: str
    owner: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A path that was taken out, and the rule that did it."""

    path: str
    size_bytes: int
    rule: str
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rootfs:
    """The image's tree as data; file bytes are in Contents under Entry.sha256."""

    entries: Mapping[str, Entry]
    """By path, sorted; every parent directory is present."""
    owners: Mapping[str, Owner]
    findings: tuple[Finding, ...] = ()
    dropped: tuple[Dropped, ...] = ()
