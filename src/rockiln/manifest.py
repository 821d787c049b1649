"""What an unpacked artifact holds: Entry (one path) and Unpacked (all paths of one artifact, plus its metadata)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from rockiln.artifact import Artifact

EntryKind = Literal["file", "directory", "symlink", "hardlink"]


class Entry(NamedTuple):
    """One path of an image. A NamedTuple, not a dataclass: an image has tens of thousands.

    `path` is absolute inside the image, without the leading slash, in merged-/usr form ("usr/bin/python3.11").
    `sha256` names the bytes of a file in Contents; `link` is the target of a symlink as written, or the `path` of
    the file that a hardlink shares. Directories, symlinks and hardlinks have size 0 and sha256 "".
    """

    path: str
    kind: EntryKind
    mode: int
    uid: int
    gid: int
    size_bytes: int
    sha256: str
    link: str
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DebFacts:
    """Control data of a deb: the control paragraph verbatim, and each control file's text by name."""

    control: str
    control_files: Mapping[str, str]
    """postinst, preinst, conffiles, md5sums, triggers, shlibs, …: name → text."""
    listed_paths: tuple[str, ...]
    """Paths as the package itself names them ("/bin/ls"), in archive order: dpkg's .list file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelFacts:
    """Metadata of an installed wheel."""

    dist_info: str
    """Name of the .dist-info folder."""
    requires_dist: tuple[str, ...]
    requires_python: str
    root_is_purelib: bool
    modules: tuple[str, ...]
    """Paths of .py files, in image form, to be byte-compiled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """One artifact, taken apart: nothing of it was executed."""

    artifact: Artifact
    entries: tuple[Entry, ...]
    deb: DebFacts | None = None
    wheel: WheelFacts | None = None
    notes: tuple[str, ...] = field(default=())
    """What was left out or odd, in words (a console script that overwrote another, a signature file skipped)."""
