"""A wheel's bytes → Unpacked: what pip would have put into /opt/venv, as entries. Nothing of it is run or compiled."""

from __future__ import annotations

import configparser
import csv
import hashlib
import io
import itertools
import posixpath
import re
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, BinaryIO

import installer
from installer.destinations import WheelDestination
from installer.exceptions import InstallerError
from installer.records import Hash, InvalidRecordEntry, RecordEntry
from installer.utils import Scheme
from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from rockiln.artifact import Artifact
from rockiln.contents import Content, Contents
from rockiln.manifest import Entry, Unpacked, WheelFacts
from rockiln.unpack.members import Members, image_path, refuse
from rockiln.unpack.wheel_file import METADATA_BYTES, LockedWheel, RecordedStream, encode_digest

if TYPE_CHECKING:
    from installer.scripts import ScriptSection

VENV = "opt/venv"
INTERPRETER = f"/{VENV}/bin/python"
INSTALLER = "rockiln"

MOST_MEMBERS = 1_000_000

_PLATFORM = re.compile(r"any|linux_x86_64|manylinux(1|2010|2014|_[0-9]+_[0-9]+)_x86_64")

_LAUNCHER = """\
#!{interpreter}
import sys
from {module} import {import_name}
if __name__ == '__main__':
    sys.argv[0] = sys.argv[0].removesuffix('.exe')
    sys.exit({attr}())
"""
"""pip's, byte for byte since pip 25."""

_FAULTS = (
    InstallerError,
    InvalidRecordEntry,
    configparser.Error,
    csv.Error,
    AssertionError,
    ValueError,
    KeyError,
    TypeError,
)
"""What `installer` and the parsers below it raise on files that are not what they should be."""


def unpack_wheel(artifact: Artifact, file: BinaryIO, contents: Contents, python: Version) -> Unpacked:
    """Take apart `file`, whose bytes are known to be the artifact's, for a venv of `python` at /opt/venv."""
    require_compatible(artifact, python)
    try:
        return _install(artifact, file, contents, python)
    except _FAULTS as fault:
        refuse(artifact, artifact.file, f"{type(fault).__name__}: {fault}")


def require_compatible(artifact: Artifact, python: Version) -> None:
    """Refuse a wheel that this Python on this platform would not take."""
    try:
        _, _, _, tags = parse_wheel_filename(artifact.file)
    except (InvalidWheelFilename, ValueError) as fault:
        refuse(artifact, artifact.file, str(fault))
    release = (python.major, python.minor)
    interpreter = f"cp{python.major}{python.minor}"
    platforms = ["linux_x86_64"]
    known = {(tag.interpreter, tag.abi) for tag in cpython_tags(release, [interpreter], platforms)}
    known |= {(tag.interpreter, tag.abi) for tag in compatible_tags(release, interpreter, platforms)}
    if not any((tag.interpreter, tag.abi) in known and _PLATFORM.fullmatch(tag.platform) for tag in tags):
        refuse(artifact, artifact.file, f"not for CPython {python.major}.{python.minor} on Linux x86-64")


def _install(artifact: Artifact, file: BinaryIO, contents: Contents, python: Version) -> Unpacked:
    source = LockedWheel(artifact, file)
    metadata = source.read_metadata()
    destination = _Venv(artifact, contents, python, str(metadata["Name"]))
    installer.install(source, destination, {"INSTALLER": f"{INSTALLER}\n".encode()})
    entries = destination.members.finish()
    site = f"{destination.site_packages}/"
    facts = WheelFacts(
        dist_info=source.dist_info_dir,
        requires_dist=tuple(str(line) for line in metadata.get_all("Requires-Dist", [])),
        requires_python=str(metadata["Requires-Python"] or ""),
        root_is_purelib=destination.root_is_purelib,
        modules=tuple(e.path for e in entries if e.path.endswith(".py") and e.path.startswith(site)),
    )
    return Unpacked(artifact=artifact, entries=entries, wheel=facts, notes=tuple(source.notes))


class _Venv(WheelDestination):
    """Where `installer` believes it writes: an entry and a content a file."""

    def __init__(self, artifact: Artifact, contents: Contents, python: Version, name: str) -> None:
        release = f"python{python.major}.{python.minor}"
        self._artifact, self._contents = artifact, contents
        self.site_packages = f"{VENV}/lib/{release}/site-packages"
        self.members = Members(artifact, MOST_MEMBERS)
        self.root_is_purelib = False
        self._folders: Mapping[str, str] = {
            "purelib": self.site_packages,
            "platlib": self.site_packages,
            "scripts": f"{VENV}/bin",
            "data": VENV,
            "headers": f"{VENV}/include/site/{release}/{name}",
        }

    def write_file(
        self, scheme: Scheme, path: str | PathLike[str], stream: BinaryIO | RecordedStream, is_executable: bool
    ) -> RecordEntry:
        is_script = scheme == "scripts"
        if isinstance(stream, RecordedStream):
            content = self._put_script(stream) if is_script else self._put(stream)
        else:
            content = self._contents.put_bytes(stream.read())
        return self._add(scheme, fspath(path), content, is_executable or is_script)

    def write_script(self, name: str, module: str, attr: str, section: ScriptSection) -> RecordEntry:
        """A launcher; gui and console are the same thing here."""
        if "/" in image_path(self._artifact, name):
            refuse(self._artifact, name, f"a {section} entry point may not name a folder")
        text = _LAUNCHER.format(interpreter=INTERPRETER, module=module, import_name=attr.partition(".")[0], attr=attr)
        content = self._contents.put_bytes(text.encode())
        return self._add(Scheme("scripts"), name, content, is_executable=True)

    def finalize_installation(
        self, scheme: Scheme, record_file_path: str, records: Iterable[tuple[Scheme, RecordEntry]]
    ) -> None:
        """Write RECORD anew: the paths are those of the venv, and the launchers are in it."""
        text = io.StringIO(newline="")
        rows = sorted((self._record_path(where, record.path), *record.to_row()[1:]) for where, record in records)
        csv.writer(text, lineterminator="\n").writerows(rows)
        content = self._contents.put_bytes(text.getvalue().encode())
        self._add(scheme, record_file_path, content, is_executable=False)
        self.root_is_purelib = scheme == "purelib"

    def _put(self, stream: RecordedStream) -> Content:
        content = self._contents.put(stream.chunks())
        stream.verify(content)
        return content

    def _put_script(self, stream: RecordedStream) -> Content:
        """A file of .data/scripts: "#!python" stands for the venv's interpreter. Compiled programs stream through."""
        chunks = stream.chunks()
        first = next(chunks, b"")
        if not first.startswith(b"#!python") or stream.size_bytes > METADATA_BYTES:
            content = self._contents.put(itertools.chain([first], chunks))
            stream.verify(content)
            return content
        text = b"".join([first, *chunks])
        stream.verify(Content(hashlib.sha256(text).hexdigest(), len(text)))
        _, _, rest = text.partition(b"\n")
        return self._contents.put_bytes(f"#!{INTERPRETER}\n".encode() + rest)

    def _add(self, scheme: Scheme, path: str, content: Content, is_executable: bool) -> RecordEntry:
        place = f"{self._folders[scheme]}/{path}"
        image_path(self._artifact, place)
        mode = 0o755 if is_executable else 0o644
        owner = self._artifact.owner
        self.members.add(place, Entry(place, "file", mode, 0, 0, content.size_bytes, content.sha256, "", owner))
        digest = encode_digest(bytes.fromhex(content.sha256))
        return RecordEntry(path, Hash("sha256", digest), content.size_bytes)

    def _record_path(self, scheme: Scheme, path: str) -> str:
        """Relative to site-packages, where RECORD's paths start."""
        if scheme in {"purelib", "platlib"}:
            return path
        return posixpath.relpath(f"{self._folders[scheme]}/{path}", self.site_packages)
