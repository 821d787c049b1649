"""matrix.toml → Matrix: which images there are, and where artifacts come from. Written by people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement
from packaging.version import Version

SourceKind = Literal["wheel-index", "wheel-directory", "debian-archive"]
Evidence = Literal["proven", "named", "conjectured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """[sources.NAME]: a place that serves artifacts. "" for `url` means: the host's own tools know it."""

    name: str
    kind: SourceKind
    url: str = ""
    suites: tuple[str, ...] = ()
    """debian-archive only, with the next five."""
    components: tuple[str, ...] = ()
    keyring: str = ""
    """File name, looked up in /usr/share/keyrings, /etc/apt/keyrings and the project folder."""
    distribution: str = ""
    """What the host's apt calls this archive when `url` is empty: the last part of its URI ("debian")."""
    snapshot: str = ""
    """URL of a snapshot of the same archive, asked when a file has left the pool."""
    check_valid_until: bool = True
    pinned_packages: tuple[str, ...] = ()
    """Only these (globs) may come from here; empty: any. For experimental beside sid."""
    packages: tuple[str, ...] = ()
    """wheel sources only: only these wheels (names, globs) come from here; empty: any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One way to fill a cell: exact wheels, how sure we are that they exist and work, and where that is written."""

    version: Version
    """Framework version that the wheels really are; ids and tags use it."""
    wheels: tuple[Requirement, ...]
    evidence: Evidence
    evidence_source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One [[target]] row: one image. `id` names it everywhere; built here only, never parsed back."""

    framework: str
    version: Version
    rocm: Version | None
    """None: a CPU image."""
    rocm_origin: str
    """"amd", "debian" or "" (CPU): who built the ROCm libraries."""
    python: Version
    os: str
    archs: tuple[str, ...]
    flavour: str
    """"" is the runtime image."""
    recipe: str
    """images/RECIPE/image.toml"""
    sources: tuple[str, ...]
    """Keys of [sources.*], in order of preference."""
    candidates: tuple[Candidate, ...]
    """At least one, best first; plan takes the first that its table allows."""
    plugins: tuple[str, ...]
    """Own distributions from plugins/ and compat/ to install; empty until they exist."""
    absent: tuple[str, ...]
    """Sonames that this row declares it does not hold, as "soname: why"."""

    @property
    def id(self) -> str:
        """framework-version-rocmX|cpu-pyX.Y-os[-archs][-flavour]; dots stay."""
        platform = f"rocm{self.rocm}" if self.rocm else "cpu"
        parts = [self.framework, str(self.version), platform, f"py{self.python}", self.os]
        parts += ["+".join(self.archs)] if self.archs else []
        parts += [self.flavour] if self.flavour else []
        return "-".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """The whole file."""

    path: Path
    targets: tuple[Target, ...]
    sources: Mapping[str, Source]
    mirrors: Mapping[str, tuple[str, ...]]
    """Source name → URLs tried before the source's own."""
