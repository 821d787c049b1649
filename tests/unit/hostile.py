"""Debs and wheels byte by byte, good ones and such as no tool would make."""

from __future__ import annotations

import base64
import bz2
import gzip
import hashlib
import io
import lzma
import tarfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import zstandard

from rockiln.artifact import Artifact, ArtifactKind

CONTROL = "Package: small\nVersion: 1:2.0-1\nArchitecture: amd64\nInstalled-Size: 10\nMaintainer: Nobody\n"

COMPRESSIONS = {
    "": lambda data: data,
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".xz": lzma.compress,
    ".lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
    ".bz2": bz2.compress,
    ".zst": lambda data: zstandard.ZstdCompressor(write_content_size=False).compress(data),
}


@dataclass(frozen=True, kw_only=True)
class Item:
    """One tar member."""

    name: str
    data: bytes = b""
    kind: bytes = tarfile.REGTYPE
    link: str = ""
    mode: int = 0o644
    uid: int = 0
    gid: int = 0

    @property
    def info(self) -> tarfile.TarInfo:
        info = tarfile.TarInfo(self.name)
        info.type, info.linkname, info.mode, info.size = self.kind, self.link, self.mode, len(self.data)
        info.uid, info.gid = self.uid, self.gid
        return info


def folder(name: str, mode: int = 0o755) -> Item:
    return Item(name=name, kind=tarfile.DIRTYPE, mode=mode)


def symlink(name: str, target: str) -> Item:
    return Item(name=name, kind=tarfile.SYMTYPE, link=target, mode=0o777)


def hardlink(name: str, target: str) -> Item:
    return Item(name=name, kind=tarfile.LNKTYPE, link=target)


def tar_of(items: Iterable[Item], tar_format: int = tarfile.GNU_FORMAT) -> bytes:
    """A tar archive. Names are written as they are, whatever they are."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tar_format) as archive:
        for item in items:
            archive.addfile(item.info, io.BytesIO(item.data))
    return buffer.getvalue()


def ar_of(members: Iterable[tuple[str, bytes]]) -> bytes:
    """An ar archive as dpkg-deb writes it."""
    parts = [b"!<arch>\n"]
    for name, data in members:
        header = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n"
        parts += [header.encode(), data, b"\n" * (len(data) % 2)]
    return b"".join(parts)


def deb_of(data_tar: bytes, control: Sequence[Item] | str = CONTROL, suffix: str = ".xz") -> bytes:
    """A deb around a finished data.tar."""
    items = [Item(name="./control", data=control.encode())] if isinstance(control, str) else control
    compress = COMPRESSIONS[suffix]
    return ar_of(
        [
            ("debian-binary", b"2.0\n"),
            (f"control.tar{suffix}", compress(tar_of(items))),
            (f"data.tar{suffix}", compress(data_tar)),
        ]
    )


def artifact_of(
    data: bytes, kind: ArtifactKind = "deb", name: str = "small", version: str = "1:2.0-1", file: str = ""
) -> Artifact:
    """The lock entry of these bytes."""
    return Artifact(
        kind=kind, name=name, version=version, architecture="amd64" if kind == "deb" else "any",
        source="somewhere", path=file or f"pool/{name}_2.0-1_amd64.deb",
        sha256=hashlib.sha256(data).hexdigest(), size_bytes=len(data),
    )  # fmt: skip


DIST_INFO = "small-1.0.dist-info"


def wheel_files(files: Mapping[str, bytes], tag: str = "py3-none-any") -> dict[str, bytes]:
    """Files and the metadata that makes them a wheel; RECORD last."""
    found = dict(files)
    found.setdefault(f"{DIST_INFO}/METADATA", b"Metadata-Version: 2.1\nName: small\nVersion: 1.0\n")
    found.setdefault(
        f"{DIST_INFO}/WHEEL", f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n".encode()
    )
    if f"{DIST_INFO}/RECORD" not in found:
        found[f"{DIST_INFO}/RECORD"] = record_of(found)
    return found


def record_of(files: Mapping[str, bytes], algorithm: str = "sha256") -> bytes:
    """RECORD, true to these files."""
    lines = [f"{name},{algorithm}={digest_of(data, algorithm)},{len(data)}" for name, data in files.items()]
    return "\n".join([*lines, f"{DIST_INFO}/RECORD,,", ""]).encode()


def digest_of(data: bytes, algorithm: str = "sha256") -> str:
    return base64.urlsafe_b64encode(hashlib.new(algorithm, data).digest()).rstrip(b"=").decode()


def zip_of(files: Mapping[str, bytes], modes: Mapping[str, int] | None = None) -> bytes:
    """A zip; `modes` are whole st_mode values."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (modes or {}).get(name, 0o100644) << 16
            archive.writestr(info, data)
    return buffer.getvalue()


def wheel_artifact(data: bytes, file: str = "small-1.0-py3-none-any.whl") -> Artifact:
    """The lock entry of a wheel named small 1.0."""
    return artifact_of(data, "wheel", "small", "1.0", file)


def files_below(path: Path) -> list[Path]:
    """Every file, however deep, but for the locks of scratch folders that are in use."""
    return sorted(found for found in path.rglob("*") if not found.is_dir() and found.suffix != ".lock")
