"""A layer's bytes, as a stream → LayerFiles: its files with sizes, hashes and device code, and what it takes away.

Nothing is unpacked: a file with code is written to a nameless temporary file while it is looked at, all others pass
through memory.
"""

from __future__ import annotations

import hashlib
import re
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, BinaryIO, NamedTuple, cast

from rockiln.audit.layer_stream import Ahead, visit_members
from rockiln.kernel_data.content import HEAD_BYTES, sniff
from rockiln.layer_paths import Whiteouts, clean_path
from rockiln.readers import Readable
from rockiln.sizes.device_code import MIN_BYTES, measure_device_code
from rockiln.sizes.kinds import find_kind, find_named_arch
from rockiln.sizes.pack_ops import MANIFEST

_CHUNK_BYTES = 1 << 20
_LISTS = re.compile(r"var/lib/dpkg/(status|info/[^/]+\.list)|(.*/)?[^/]+\.dist-info/RECORD")
"""Files that say who owns others. Kernel packs say of themselves what they hold."""


class LayerFile(NamedTuple):
    """A regular file; sizes in bytes."""

    size_bytes: int
    sha256: str
    code: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerFiles:
    """One layer of an image."""

    diff_id: str
    """sha256:… of the tar stream."""
    files: Mapping[str, LayerFile]
    hardlinks: Mapping[str, str]
    symlinks: Mapping[str, str]
    texts: Mapping[str, bytes]
    removed: tuple[str, ...]
    emptied: tuple[str, ...]
    """Folders of which nothing from earlier layers is seen."""

    @property
    def unpacked_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files.values())


def read_layer(stream: Readable, name: str) -> LayerFiles:
    """Read the whole layer once. Raises ImageError where it is damaged."""
    reader = _Reader()
    digest = visit_members(stream, name, reader.add)
    return LayerFiles(
        diff_id=digest, files=reader.files, hardlinks=reader.hardlinks,
        symlinks=reader.symlinks, texts=reader.texts,
        removed=tuple(reader.whiteouts.removed), emptied=tuple(reader.whiteouts.emptied),
    )  # fmt: skip


class _Reader:
    """What was met so far."""

    def __init__(self) -> None:
        self.files: dict[str, LayerFile] = {}
        self.hardlinks: dict[str, str] = {}
        self.symlinks: dict[str, str] = {}
        self.texts: dict[str, bytes] = {}
        self.whiteouts = Whiteouts()

    def add(self, member: tarfile.TarInfo, archive: tarfile.TarFile) -> None:
        path = clean_path(member.name)
        if self.whiteouts.take(path):
            return
        if member.issym():
            self.symlinks[path] = member.linkname
        elif member.islnk():
            self.hardlinks[path] = clean_path(member.linkname)
        elif member.isreg() and (source := archive.extractfile(member)):
            self.files[path] = self._read_file(path, member.size, Ahead(cast("Readable", source)))

    def _read_file(self, path: str, size_bytes: int, source: Ahead) -> LayerFile:
        digest = hashlib.sha256()
        if _LISTS.fullmatch(path) or MANIFEST.fullmatch(path):
            self.texts[path] = text = source.read()
            digest.update(text)
            return LayerFile(size_bytes, digest.hexdigest(), {})
        named = find_named_arch(path) if find_kind(path) == "kernel data" else ""
        is_code = not named and size_bytes >= MIN_BYTES and sniff(source.peek(HEAD_BYTES)) != "other"
        code = {named: size_bytes} if named else {}
        if is_code:
            with tempfile.TemporaryFile(prefix="rockiln-") as spool:
                _copy(source, digest, spool)
                spool.flush()
                code = measure_device_code(cast("BinaryIO", spool))
        else:
            _copy(source, digest)
        return LayerFile(size_bytes, digest.hexdigest(), code)


def _copy(source: Ahead, digest: hashlib._Hash, output: IO[bytes] | None = None) -> None:
    while chunk := source.read(_CHUNK_BYTES):
        digest.update(chunk)
        if output:
            output.write(chunk)
