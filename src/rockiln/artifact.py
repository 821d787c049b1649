"""A lock entry → Artifact: one deb or wheel, named by what it is and by the hash of its bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ArtifactKind = Literal["deb", "wheel"]
OWN = "own"
"""Source of wheels that are built from this repository: stands where others have a key of [sources.*]."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Artifact:
    """One file to fetch and unpack.

    `source` is a key of [sources.*] in matrix.toml, or "own" for a wheel built from this repository; `path` is the
    file's path below its source (a pool path for a deb; the bare file name for wheels). Hosts are never recorded.
    """

    kind: ArtifactKind
    name: str
    version: str
    architecture: str
    source: str
    path: str
    sha256: str
    size_bytes: int
    source_tree: str = ""
    """Of an own wheel: hash of the sources that it was built from."""

    @property
    def file(self) -> str:
        """File name, without folders."""
        return self.path.rpartition("/")[2]

    @property
    def owner(self) -> str:
        """The name by which the rootfs knows who brought a path."""
        return f"{self.kind}:{self.name}"
