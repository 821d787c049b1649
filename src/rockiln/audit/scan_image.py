"""An OCI layout, an archive of one, or a stream of `docker save` → Scan. Layers are read once and never unpacked."""

from __future__ import annotations

import hashlib
import multiprocessing
import posixpath
import tarfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import cast

from rockiln.audit.foreign_json import MAX_BYTES
from rockiln.audit.image_index import ImageParts, Read, read_docker_manifest, read_oci_index
from rockiln.audit.inspect_file import Wanted
from rockiln.audit.layer_stream import (
    STREAM_FAULTS,
    Ahead,
    LayerScan,
    name_fault,
    open_decompressed,
    scan_layer,
)
from rockiln.audit.merge_layers import merge_layers
from rockiln.audit.scan import Scan, ignore_interrupt
from rockiln.console import Console, Progress
from rockiln.errors import ImageError
from rockiln.readers import CountedReader, HashedReader, Readable
from rockiln.regular_files import open_regular, read_regular, size_of_regular

INDEX_NAME = "index.json"
DOCKER_MANIFEST_NAME = "manifest.json"
_CHUNK_BYTES = 1 << 20
_ALONE_BYTES = 64 << 20


def scan_layout(layout_path: Path, subject: str, wanted: Wanted, jobs: int, console: Console) -> Scan:
    """A folder with index.json. Every blob is compared with the digest that names it."""

    parts = read_layout(layout_path)
    paths = [layout_path / name for name in parts.layers]
    total = sum(_require_size(path, parts.sizes_bytes[name]) for path, name in zip(paths, parts.layers, strict=True))
    with console.progress(f"audit {subject}", total, "bytes") as progress:
        layers = _scan_blobs(paths, wanted, jobs if total > _ALONE_BYTES else 1, progress)
    return _require_files(merge_layers(subject, layers, parts.settings, wanted))


def read_layout(layout_path: Path) -> ImageParts:
    """Layers and settings of the image in a layout."""

    def read(name: str) -> bytes:
        return _read_blob(layout_path, name)

    return read_oci_index(read, str(layout_path))


def scan_archive(stream: Readable, subject: str, wanted: Wanted, console: Console, total_bytes: int = 0) -> Scan:
    """A tar of a layout, or what `docker save` writes, read from front to back; layers may come before or after
    the JSON that names them."""
    archive = _Archive(subject, wanted)
    with console.progress(f"audit {subject}", total_bytes, "bytes") as progress:
        archive.read(CountedReader(stream, progress.advance))
    parts = archive.find_parts()
    layers = [archive.layer(name) for name in parts.layers]
    return _require_files(merge_layers(subject, layers, parts.settings, wanted))


def _require_files(scan: Scan) -> Scan:
    """Of nothing there is nothing to say, least of all that it is well."""
    if not scan.tree.nodes:
        raise ImageError(f"{scan.subject}: the image holds no files", hint="was it copied whole, with its layers?")
    return scan


def _read_blob(layout_path: Path, name: str) -> bytes:
    try:
        content = read_regular(layout_path / name, MAX_BYTES)
    except OSError as fault:
        raise ImageError(f"{layout_path / name}: {fault.strerror}", hint="is the layout whole?") from fault
    if name != INDEX_NAME and hashlib.sha256(content).hexdigest() != posixpath.basename(name):
        raise ImageError(f"{layout_path / name}: the content has another hash than its name", hint="copy it anew")
    return content


def _size_of(path: Path) -> int:
    try:
        return size_of_regular(path)
    except OSError as fault:
        raise ImageError(f"{path}: {fault.strerror}", hint="is the layout whole?") from fault


def _require_size(path: Path, wanted_bytes: object) -> int:
    size_bytes = _size_of(path)
    if size_bytes != wanted_bytes:
        raise ImageError(f"{path}: has {size_bytes} bytes, and the manifest says {wanted_bytes}", hint="copy it anew")
    return size_bytes


def _scan_blobs(paths: list[Path], wanted: Wanted, jobs: int, progress: Progress) -> list[LayerScan]:
    """Several layers at once; the largest are begun first."""
    unique = sorted(dict.fromkeys(paths), key=lambda path: -_size_of(path))
    scan = partial(_scan_blob, wanted)
    scans: dict[Path, LayerScan] = {}
    if jobs == 1:
        for path in unique:
            scans[path] = scan(path)
            progress.advance(_size_of(path))
        return [scans[path] for path in paths]
    executor = ProcessPoolExecutor(jobs, multiprocessing.get_context("forkserver"), ignore_interrupt)
    try:
        for path, layer in zip(unique, executor.map(scan, unique), strict=True):
            scans[path] = layer
            progress.advance(_size_of(path))
    finally:
        executor.shutdown(cancel_futures=True)
    return [scans[path] for path in paths]


def _scan_blob(wanted: Wanted, path: Path) -> LayerScan:
    with open_regular(path) as file:
        hashed = HashedReader(file)
        layer = scan_layer(hashed, wanted, str(path))
        while hashed.read(_CHUNK_BYTES):
            pass
    if hashed.hexdigest() != path.name:
        raise ImageError(f"{path}: the content has another hash than its name", hint="copy the image anew")
    return layer


class _Archive:
    """What was met in a tar so far: JSON by name, layers by name, and names that stand for others."""

    def __init__(self, subject: str, wanted: Wanted) -> None:
        self._subject, self._wanted = subject, wanted
        self._texts: dict[str, bytes] = {}
        self._layers: dict[str, LayerScan] = {}
        self._aliases: dict[str, str] = {}

    def read(self, stream: Readable) -> None:
        try:
            for member, archive in self._walk(open_decompressed(stream)):
                self._keep(member, archive)
        except STREAM_FAULTS as fault:
            message = f"{self._subject}: cannot be read as an archive: {name_fault(fault)}"
            raise ImageError(message, hint="is it an OCI archive, or the output of docker save?") from fault

    def find_parts(self) -> ImageParts:
        """docker save of today writes both forms; the older one names the order of layers as well."""
        read: Read = self._text
        if DOCKER_MANIFEST_NAME in self._texts:
            return read_docker_manifest(read, self._subject)
        if INDEX_NAME in self._texts:
            return read_oci_index(read, self._subject)
        raise ImageError(f"{self._subject}: has neither manifest.json nor index.json", hint="save the image anew")

    def layer(self, name: str) -> LayerScan:
        found = self._layers.get(self._aliases.get(name, name))
        if found is None:
            raise ImageError(f"{self._subject}: lacks the layer {name}", hint="save the image anew")
        return found

    def _text(self, name: str) -> bytes:
        if name not in self._texts:
            raise ImageError(f"{self._subject}: lacks {name}", hint="save the image anew")
        return self._texts[name]

    def _walk(self, content: Readable) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
        with tarfile.open(fileobj=content, mode="r|") as archive:  # type: ignore[call-overload]  # a stream needs read only
            for member in archive:
                yield member, archive
                archive.members.clear()

    def _keep(self, member: tarfile.TarInfo, archive: tarfile.TarFile) -> None:
        name = posixpath.normpath(member.name)
        if member.issym() or member.islnk():
            folder = posixpath.dirname(name) if member.issym() else ""
            self._aliases[name] = posixpath.normpath(posixpath.join(folder, member.linkname))
            return
        source = archive.extractfile(member)
        if source is None:
            return
        ahead = Ahead(cast("Readable", source))
        is_json = name in {INDEX_NAME, DOCKER_MANIFEST_NAME} or ahead.peek(1) in {b"{", b"["}
        if is_json and member.size <= MAX_BYTES:
            self._texts[name] = ahead.read()
        elif name.endswith(".tar") or name.startswith("blobs/"):
            self._layers[name] = scan_layer(ahead, self._wanted, f"{self._subject}: {name}")
