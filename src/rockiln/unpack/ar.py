"""A .deb file → its sections. Own code, and strict: python-debian and unix-ar loop for ever on a negative size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from rockiln.artifact import Artifact
from rockiln.unpack.decompress import Section, is_known
from rockiln.unpack.members import refuse

_MAGIC = b"!<arch>\n"
_HEADER = re.compile(
    rb"([!-~]{1,16}) *(?<=^.{16})[0-9 ]{12}[0-9 ]{12}[0-7 ]{8}([0-9]{1,10}) *(?<=^.{58})`\n", re.DOTALL
)
"""ar(5): name, mtime, uid, gid, mode, size, magic; all of it text, padded with spaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebSections:
    """Where control.tar and data.tar lie in the file, and how they are compressed ("", ".xz", ".zst", …)."""

    control: Section
    control_suffix: str
    data: Section
    data_suffix: str


def read_sections(artifact: Artifact, file: BinaryIO) -> DebSections:
    """deb(5): "debian-binary", then control.tar*, then data.tar*; names starting with "_" are skipped."""
    found = [(name, section) for name, section in _members(artifact, file) if not name.startswith("_")]
    names = [name for name, _ in found] + ["", "", ""]
    if names[0] != "debian-binary" or found[0][1].read(2) != b"2.":
        refuse(artifact, "debian-binary", "not a Debian package of format 2")
    control_suffix = _suffix(artifact, names[1], "control.tar")
    data_suffix = _suffix(artifact, names[2], "data.tar")
    return DebSections(control=found[1][1], control_suffix=control_suffix, data=found[2][1], data_suffix=data_suffix)


def _suffix(artifact: Artifact, name: str, stem: str) -> str:
    suffix = name.removeprefix(stem)
    if not name.startswith(stem) or not is_known(suffix):
        refuse(artifact, name, f"{stem}, in a known compression, should be here")
    return suffix


def _members(artifact: Artifact, file: BinaryIO) -> Iterator[tuple[str, Section]]:
    file.seek(0)
    if file.read(len(_MAGIC)) != _MAGIC:
        refuse(artifact, artifact.file, "not an ar archive")
    position = len(_MAGIC)
    while header := file.read(60):
        match = _HEADER.fullmatch(header)
        if match is None:
            refuse(artifact, artifact.file, f"damaged ar header at byte {position}")
        name, size_bytes = match[1].decode("ascii").removesuffix("/"), int(match[2])
        if position + 60 + size_bytes > artifact.size_bytes:
            refuse(artifact, name, "reaches beyond the end of the file")
        yield name, Section(file, position + 60, size_bytes)
        position += 60 + size_bytes + size_bytes % 2
        file.seek(position)
