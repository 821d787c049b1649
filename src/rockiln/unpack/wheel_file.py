"""A wheel's bytes → what PyPA's `installer` reads wheels through: members, each with its line of RECORD."""

from __future__ import annotations

import base64
import configparser
import hashlib
from collections.abc import Iterable, Iterator
from email.message import Message
from typing import BinaryIO, cast

from installer.records import RecordEntry, parse_record_file
from installer.sources import WheelContentElement, WheelSource
from installer.utils import SCHEME_NAMES, parse_entrypoints, parse_metadata_file
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from rockiln.artifact import Artifact
from rockiln.contents import Content
from rockiln.unpack.members import refuse
from rockiln.unpack.zip_reader import ZipMember, read_directory, read_member

METADATA_BYTES = 32 << 20
"""Most that one file of .dist-info may hold that is read into memory (torch's RECORD has 2 MB)."""

STRONG_HASHES = frozenset({"sha256", "sha384", "sha512"})

_WRITTEN_HERE = {
    "RECORD": "",
    "INSTALLER": "",
    "RECORD.jws": "a signature of RECORD, which an installed wheel does not keep",
    "RECORD.p7s": "a signature of RECORD, which an installed wheel does not keep",
    "REQUESTED": "says how a wheel was installed",
    "direct_url.json": "says how a wheel was installed",
}
"""Files of .dist-info that a wheel may hold and an installation does not take from it."""


class RecordedStream:
    """The bytes of a member, and what RECORD says of them."""

    def __init__(self, artifact: Artifact, file: BinaryIO, member: ZipMember, record: RecordEntry) -> None:
        if record.hash_ is None or record.hash_.name not in STRONG_HASHES or record.size is None:
            refuse(artifact, member.name, "RECORD has no strong hash, or no size, for it")
        self._artifact, self._file, self._member = artifact, file, member
        self._size_bytes = record.size
        self._hash = record.hash_
        self._digest = None if self._hash.name == "sha256" else hashlib.new(self._hash.name)

    @property
    def size_bytes(self) -> int:
        """As the wheel's directory says; RECORD's is compared in `verify`."""
        return self._member.size_bytes

    def chunks(self) -> Iterator[bytes]:
        """The bytes in pieces. `verify` them afterwards."""
        for chunk in read_member(self._artifact, self._file, self._member):
            if self._digest is not None:
                self._digest.update(chunk)
            yield chunk

    def verify(self, content: Content) -> None:
        """Refuse bytes that are not RECORD's. Contents has computed their sha256: it is not computed twice."""
        digest = bytes.fromhex(content.sha256) if self._digest is None else self._digest.digest()
        if self._hash.value.rstrip("=") != encode_digest(digest):
            refuse(self._artifact, self._member.name, "its hash is not the one in RECORD")
        if self._size_bytes != content.size_bytes:
            refuse(self._artifact, self._member.name, f"has {content.size_bytes} bytes; RECORD says {self._size_bytes}")


def encode_digest(digest: bytes) -> str:
    """As RECORD writes it."""
    return base64.urlsafe_b64encode(digest).decode("ascii").rstrip("=")


class LockedWheel(WheelSource):
    """A wheel whose file is known to be the artifact's. Members stream, and none is read twice."""

    def __init__(self, artifact: Artifact, file: BinaryIO) -> None:
        self._artifact, self._file = artifact, file
        self._members = _by_name(artifact, read_directory(artifact, file))
        self._folder = _only_folder(artifact, self._members, ".dist-info")
        distribution, _, version = self._folder.removesuffix(".dist-info").rpartition("-")
        super().__init__(distribution=distribution, version=version)
        self._data_folder = _data_folder(artifact, self._members) or super().data_dir
        self._launchers = self._read_launchers()
        self.notes: list[str] = []

    @property
    def dist_info_dir(self) -> str:
        return self._folder

    @property
    def data_dir(self) -> str:
        return self._data_folder

    @property
    def dist_info_filenames(self) -> list[str]:
        start = f"{self._folder}/"
        return [name.removeprefix(start) for name in self._members if name.startswith(start)]

    def read_dist_info(self, filename: str) -> str:
        name = f"{self._folder}/{filename}"
        member = self._members.get(name)
        if member is None:
            refuse(self._artifact, name, "missing")
        if member.size_bytes > METADATA_BYTES:
            refuse(self._artifact, name, f"larger than {METADATA_BYTES} bytes")
        data = b"".join(read_member(self._artifact, self._file, member))
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            refuse(self._artifact, name, "not in UTF-8")

    def read_metadata(self) -> Message:
        """METADATA; refused when it is of another package than the locked one."""
        metadata = parse_metadata_file(self.read_dist_info("METADATA"))
        found = (canonicalize_name(str(metadata["Name"])), _version(str(metadata["Version"])))
        if found != (canonicalize_name(self._artifact.name), _version(self._artifact.version)):
            locked = f"{self._artifact.name} {self._artifact.version}"
            refuse(self._artifact, f"{self._folder}/METADATA", f"is of {found[0]!a} {found[1]}; locked is {locked}")
        return metadata

    def get_contents(self) -> Iterator[WheelContentElement]:
        """Every file that is to be installed; in the end, RECORD and the wheel have named the same files."""
        records = self._read_record()
        for name, member in self._members.items():
            record = records.pop(name, None)
            reason = self._why_left_out(name)
            if reason:
                self.notes.append(f"{name}: left out: {reason}")
            if reason is not None:
                continue
            if record is None:
                refuse(self._artifact, name, "not in RECORD")
            stream = RecordedStream(self._artifact, self._file, member, record)
            yield record.to_row(), cast(BinaryIO, stream), member.is_executable
        for name in records:
            refuse(self._artifact, name, "in RECORD, but not in the wheel")

    def _read_launchers(self) -> frozenset[str]:
        """Names of the scripts that are made from entry points."""
        name = f"{self._folder}/entry_points.txt"
        if name not in self._members:
            return frozenset()
        try:
            return frozenset(launcher for launcher, *_ in parse_entrypoints(self.read_dist_info("entry_points.txt")))
        except (AssertionError, ValueError, configparser.Error) as fault:
            refuse(self._artifact, name, f"not entry points: {str(fault) or 'module:function expected'}")

    def _why_left_out(self, name: str) -> str | None:
        """None for a file to be installed; "" for what nobody misses."""
        folder, _, file = name.rpartition("/")
        if folder == self._folder and file in _WRITTEN_HERE:
            return _WRITTEN_HERE[file]
        if "__pycache__" in folder.split("/"):
            return "bytecode is made by the image's own interpreter"
        if folder == f"{self._data_folder}/scripts" and file.removesuffix("-script.py") in self._launchers:
            return "an entry point has the same name"
        return None

    def _read_record(self) -> dict[str, RecordEntry]:
        name = f"{self._folder}/RECORD"
        records: dict[str, RecordEntry] = {}
        for elements in parse_record_file(self.read_dist_info("RECORD").splitlines()):
            record = RecordEntry.from_elements(*elements)
            if records.setdefault(record.path, record) != record:
                refuse(self._artifact, name, f"has two different lines for {record.path!a}")
        return records


def _by_name(artifact: Artifact, members: Iterable[ZipMember]) -> dict[str, ZipMember]:
    found: dict[str, ZipMember] = {}
    for member in members:
        if found.setdefault(member.name, member) is not member:
            refuse(artifact, member.name, "occurs twice")
    return found


def _only_folder(artifact: Artifact, members: Iterable[str], suffix: str) -> str:
    tops = {top for top, slash, _ in (name.partition("/") for name in members) if slash and top.endswith(suffix)}
    if len(tops) != 1:
        refuse(artifact, artifact.file, f"has {len(tops)} {suffix} folders; a wheel has one")
    return tops.pop()


def _data_folder(artifact: Artifact, members: Iterable[str]) -> str:
    """The .data folder, or "". What lies in it must lie in a scheme's folder."""
    inside = [name for name in members if name.partition("/")[0].endswith(".data")]
    for name in inside:
        parts = name.split("/")
        if len(parts) < 3 or parts[1] not in SCHEME_NAMES:
            refuse(artifact, name, f"neither in {', '.join(SCHEME_NAMES)} of the .data folder")
    return _only_folder(artifact, inside, ".data") if inside else ""


def _version(text: str) -> Version | str:
    try:
        return Version(text)
    except InvalidVersion:
        return text
