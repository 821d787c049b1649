"""What an unpacked artifact holds: Entry (one path) and Unpacked (all paths of one artifact, plus its metadata)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

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


def encode_unpacked(unpacked: Unpacked) -> bytes:
    """Compact JSON; entries are arrays without their owner, which is the artifact's."""
    value = {
        "artifact": asdict(unpacked.artifact),
        "entries": [entry[:-1] for entry in unpacked.entries],
        "deb": asdict(unpacked.deb) if unpacked.deb else None,
        "wheel": asdict(unpacked.wheel) if unpacked.wheel else None,
        "notes": unpacked.notes,
    }
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode("ascii")


def decode_unpacked(text: bytes) -> Unpacked:
    """What `encode_unpacked` wrote. Anything else: ValueError, KeyError or TypeError."""
    value: dict[str, Any] = json.loads(text)
    artifact = Artifact(**value["artifact"])
    return Unpacked(
        artifact=artifact,
        entries=_entries(value["entries"], artifact.owner),
        deb=DebFacts(**_with_tuples(value["deb"])) if value["deb"] else None,
        wheel=WheelFacts(**_with_tuples(value["wheel"])) if value["wheel"] else None,
        notes=tuple(value["notes"]),
    )


def _entries(rows: Iterable[Sequence[Any]], owner: str) -> tuple[Entry, ...]:
    return tuple([Entry._make((*row, owner)) for row in rows])


def _with_tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    """JSON knows no tuples; frozen values know no lists."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
