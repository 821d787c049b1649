"""images/NAME/image.toml → Recipe: what an image holds and how it starts. Data only; there is no shell in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """[[edit]]: a checked change of one file of one wheel. Fails unless the file is exactly the one it was made for."""

    path: str
    owner: str
    """"wheel:jaxlib"."""
    sha256_before: str
    replace: str
    """Text that occurs exactly once."""
    text: str
    """What stands there afterwards ("with" in the file)."""
    sha256_after: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRule:
    """[[drop]]: whole files that nobody runs. The first rule that matches a path, `keep` globs excepted, drops it."""

    rule: str
    """Name, shown in reports: "docs", "locales", "tests"."""
    paths: tuple[str, ...]
    """Globs over image paths without leading slash; ** crosses folders (pathlib's full_match rules)."""
    keep: tuple[str, ...]
    owners: tuple[str, ...]
    """Globs over owners ("wheel:*"); empty: all."""
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """[[user]]: an account besides those that Debian's base-passwd makes."""

    name: str
    uid: int
    gid: int
    home: str
    shell: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The file, with what it `extends` merged in."""

    name: str
    path: Path
    packages: tuple[str, ...]
    """Debian package names asked for, this os and flavour selected; apt adds what they depend on."""
    env: Mapping[str, str]
    workdir: str
    user: str
    cmd: tuple[str, ...]
    labels: Mapping[str, str]
    writable_folders: tuple[str, ...]
    """Made with mode 1777, so that any uid may write: caches."""
    files: Mapping[str, str]
    """Small text files to add: image path → text."""
    edits: tuple[FileEdit, ...]
    drops: tuple[DropRule, ...]
    users: tuple[User, ...]
    layer_budget: int
    """At most so many layers."""
    smoke_tiers: tuple[str, ...]
    """Tiers that exist for this recipe: "cpu", "gpu", "multi-gpu"."""
    required_tiers: tuple[str, ...]

    @property
    def smoke_path(self) -> Path:
        """Folder of check_*.py programs."""
        return self.path.parent / "smoke"
