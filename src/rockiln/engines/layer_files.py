"""A layer blob → LayerFiles: its members as a list, its regular files under numbers; verified while they are read.

Names inside the archive never become names on the host here; trees.py places them.
"""

from __future__ import annotations

import json
import os
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rockiln.console import Progress
from rockiln.disk import disk_faults_named
from rockiln.engines.cache_folder import make_folder_once
from rockiln.engines.layout import REBUILD_HINT, locate_blob, open_blob
from rockiln.errors import EngineError
from rockiln.image import Image, Layer
from rockiln.namespaces.ids import has_other_ids
from rockiln.readers import CountedReader, HashedReader, Readable

CHUNK_BYTES = 1 << 20
TAR_BUFFER_BYTES = 1 << 16
"""tarfile copies what is left of its buffer at each read: small is fast."""
KINDS = {tarfile.DIRTYPE: "directory", tarfile.SYMTYPE: "symlink", tarfile.LNKTYPE: "hardlink"}


class Member(NamedTuple):
    """One member of a layer. `number` names the bytes of a file; -1 for everything else."""

    path: str
    kind: str
    mode: int
    uid: int
    gid: int
    link: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerFiles:
    """An extracted layer."""

    folder: Path
    members: tuple[Member, ...]

    def path_of(self, member: Member) -> Path:
        return self.folder / str(member.number)


def extract_layer(image: Image, layer: Layer, layers_path: Path, progress: Progress) -> LayerFiles:
    """The layer, from the cache or from its blob. Raises EngineError where its bytes differ from its digests."""
    folder = layers_path / layer.diff_id.partition(":")[2]
    blob_path = locate_blob(image, layer.digest)
    make_folder_once(folder, lambda unfinished: _extract(blob_path, layer, unfinished, progress))
    with (folder / "members.json").open("rb") as file:
        return LayerFiles(folder=folder, members=tuple(Member(*row) for row in json.load(file)))


def _extract(blob_path: Path, layer: Layer, folder: Path, progress: Progress) -> None:
    try:
        with open_blob(blob_path) as file:
            blob = HashedReader(CountedReader(file, progress.advance))
            content = HashedReader(_open_decompressed(blob, layer.media_type))
            members = [_store(member, stream, folder, number) for number, (member, stream) in enumerate(_walk(content))]
            _drain(content)
            _drain(blob)
    except (tarfile.TarError, zlib.error, EOFError, ValueError) as error:
        raise EngineError(f"{blob_path}: cannot read the layer: {error}", hint=REBUILD_HINT) from error
    for read, named, what in ((blob, layer.digest, "digest"), (content, layer.diff_id, "diff_id")):
        if read.digest != named:
            raise EngineError(f"{blob_path}: the {what} is {read.digest}, not {named}", hint=REBUILD_HINT)
    (folder / "members.json").write_text(json.dumps([member for member in members if member]), encoding="utf-8")


def _walk(content: HashedReader) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    with tarfile.open(fileobj=content, mode="r|", bufsize=TAR_BUFFER_BYTES) as archive:  # type: ignore[call-overload]  # a stream needs read only
        for member in archive:
            yield member, archive
            archive.members.clear()  # else an index of everything read grows: streaming needs none


def _store(member: tarfile.TarInfo, archive: tarfile.TarFile, folder: Path, number: int) -> Member | None:
    """Keep a member; None for device nodes and pipes, which no tree of ours holds."""
    kind = "file" if member.isreg() else KINDS.get(member.type, "")
    if not kind:
        return None
    mode, link = member.mode & 0o7777, member.linkname
    if kind == "file":
        with disk_faults_named(folder, member.size):
            _write_file(member, archive, folder / str(number))
    return Member(member.name, kind, mode, member.uid, member.gid, link, number if kind == "file" else -1)


def _write_file(member: tarfile.TarInfo, archive: tarfile.TarFile, path: Path) -> None:
    source = archive.extractfile(member)
    with path.open("xb") as file:
        while source and (chunk := source.read(CHUNK_BYTES)):
            file.write(chunk)
        file.flush()
        descriptor = file.fileno()
        if has_other_ids():
            os.fchown(descriptor, member.uid, member.gid)
        os.fchmod(descriptor, member.mode & 0o7777)
        os.utime(descriptor, (member.mtime, member.mtime))


class _GzipMembers:
    """Decompresses gzip members one after another; zlib checks each one's CRC."""

    def __init__(self, source: Readable) -> None:
        self._source = source
        self._member = zlib.decompressobj(31)
        self._compressed = b""
        self._is_inside = False

    def read(self, size: int) -> bytes:
        while True:
            self._is_inside |= bool(self._compressed)
            content = self._member.decompress(self._compressed, size)
            self._compressed = self._member.unconsumed_tail
            if self._member.eof:
                self._compressed = self._member.unused_data
                self._member, self._is_inside = zlib.decompressobj(31), False
            if content or not (self._compressed or self._read_on()):
                return content

    def _read_on(self) -> bool:
        self._compressed = self._source.read(CHUNK_BYTES)
        if not self._compressed and self._is_inside:
            raise EOFError("the gzip stream ends in the middle of a member")
        return bool(self._compressed)


def _open_decompressed(blob: Readable, media_type: str) -> Readable:
    if media_type.endswith("+zstd"):
        import zstandard

        return zstandard.ZstdDecompressor().stream_reader(blob, read_across_frames=True, read_size=CHUNK_BYTES)  # type: ignore[arg-type]
    return _GzipMembers(blob) if media_type.endswith(("+gzip", ".gzip")) else blob


def _drain(reader: HashedReader) -> None:
    """What follows the end of the archive counts for the hash too."""
    while reader.read(CHUNK_BYTES):
        pass
