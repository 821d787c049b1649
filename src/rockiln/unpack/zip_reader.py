"""A zip file → its members and their bytes. zipfile reads the directory; the members are read here, checked and faster.

zipfile believes sizes, lets members overlap and inflates with zlib; a wheel's largest member may have a gigabyte.
"""

from __future__ import annotations

import stat
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from rockiln.artifact import Artifact
from rockiln.unpack import decompress
from rockiln.unpack.decompress import Section, inflate
from rockiln.unpack.members import image_path, refuse

FLOOR_BYTES = 64 << 20
MOST_RATIO = 200
"""A wheel may unpack to FLOOR_BYTES and MOST_RATIO times its own size. Real ones need a ratio of ten."""

MOST_MEMBERS = 500_000

DAMAGE: tuple[type[Exception], ...] = (
    *decompress.DAMAGE,
    zipfile.BadZipFile,
    struct.error,
    ValueError,
    OverflowError,
    NotImplementedError,
    IndexError,
)
"""What zipfile raises on bytes that are not a zip file, besides what decoders do."""

_LOCAL_HEADER = struct.Struct("<4s22xHH")
_ENCRYPTED = 0x1


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipMember:
    """One file of a zip."""

    name: str
    start: int
    compressed_bytes: int
    size_bytes: int
    is_deflated: bool
    is_executable: bool


def read_directory(artifact: Artifact, file: BinaryIO) -> tuple[ZipMember, ...]:
    """All files in archive order; folders are left out, they follow from the files."""
    try:
        with zipfile.ZipFile(file) as archive:
            found = archive.infolist()
    except DAMAGE as fault:
        refuse(artifact, artifact.file, f"not a readable zip: {fault}")
    if len(found) > MOST_MEMBERS:
        refuse(artifact, found[MOST_MEMBERS].filename, f"more than {MOST_MEMBERS} members")
    limit_bytes = FLOOR_BYTES + MOST_RATIO * artifact.size_bytes
    total_bytes = 0
    for item in found:
        _check_item(artifact, item)
        total_bytes += item.file_size
        if total_bytes > limit_bytes:
            refuse(artifact, item.orig_filename, f"with it the wheel unpacks to more than {limit_bytes} bytes")
    _check_overlaps(artifact, found)
    return tuple(_member(item) for item in found if not item.is_dir())


def read_member(artifact: Artifact, file: BinaryIO, member: ZipMember) -> Iterator[bytes]:
    """The bytes of a member in pieces: exactly as many as the directory says."""
    seen_bytes = 0
    try:
        section = Section(file, _data_start(artifact, file, member), member.compressed_bytes)
        for piece in inflate(section.chunks()) if member.is_deflated else section.chunks():
            seen_bytes += len(piece)
            if seen_bytes > member.size_bytes:
                break
            yield piece
    except decompress.DAMAGE as fault:
        refuse(artifact, member.name, str(fault))
    if seen_bytes != member.size_bytes:
        more_or_less = "more" if seen_bytes > member.size_bytes else "less"
        refuse(artifact, member.name, f"unpacks to {more_or_less} than the {member.size_bytes} bytes it claims")


def _member(item: zipfile.ZipInfo) -> ZipMember:
    return ZipMember(
        name=item.filename,
        start=item.header_offset,
        compressed_bytes=item.compress_size,
        size_bytes=item.file_size,
        is_deflated=item.compress_type == zipfile.ZIP_DEFLATED,
        is_executable=bool(item.external_attr >> 16 & 0o111),
    )


def _check_item(artifact: Artifact, item: zipfile.ZipInfo) -> None:
    name = item.orig_filename
    image_path(artifact, name)
    kind = stat.S_IFMT(item.external_attr >> 16)
    if kind not in {0, stat.S_IFDIR if item.is_dir() else stat.S_IFREG}:
        refuse(artifact, name, f"a {_KINDS.get(kind, 'special file')}, where wheels hold plain files only")
    if item.is_dir() and item.file_size:
        refuse(artifact, name, "a folder with contents")
    if item.flag_bits & _ENCRYPTED:
        refuse(artifact, name, "encrypted")
    if item.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        refuse(artifact, name, f"compression method {item.compress_type}, where wheels are stored or deflated")


_KINDS = {
    stat.S_IFLNK: "symlink",
    stat.S_IFCHR: "character device",
    stat.S_IFBLK: "block device",
    stat.S_IFIFO: "FIFO",
    stat.S_IFSOCK: "socket",
    stat.S_IFDIR: "folder without a slash",
}


def _check_overlaps(artifact: Artifact, found: list[zipfile.ZipInfo]) -> None:
    """Bombs of the better kind share one compressed block between many members."""
    end = 0
    for item in sorted(found, key=lambda item: item.header_offset):
        if item.header_offset < end:
            refuse(artifact, item.orig_filename, "overlaps another member")
        end = item.header_offset + 30 + len(item.orig_filename) + item.compress_size
    if end > artifact.size_bytes:
        refuse(artifact, artifact.file, "members reach beyond the end of the file")


def _data_start(artifact: Artifact, file: BinaryIO, member: ZipMember) -> int:
    """Behind the member's own header, which has to agree with the directory about the name."""
    header = Section(file, member.start, 30).read()
    magic, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(header)
    if magic != b"PK\x03\x04":
        refuse(artifact, member.name, "is not at its place in the file")
    name = Section(file, member.start + 30, name_bytes).read()
    if member.name not in {name.decode("utf-8", "replace"), name.decode("cp437")}:
        refuse(artifact, member.name, f"has another name at its place in the file: {name[:200]!r}")
    return member.start + 30 + int(name_bytes) + int(extra_bytes)
