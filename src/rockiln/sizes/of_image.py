"""An OCI layout, an archive of one, or the output of `docker save` → Measured: an image that anybody made."""

from __future__ import annotations

import posixpath
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import IO, cast

from rockiln.audit.foreign_json import MAX_BYTES
from rockiln.audit.image_index import ImageParts, read_docker_manifest, read_oci_index
from rockiln.audit.layer_stream import GZIP, STREAM_FAULTS, ZSTD, name_fault
from rockiln.console import Console, Progress
from rockiln.disk import disk_faults_named
from rockiln.errors import ImageError
from rockiln.layer_paths import forget_covered
from rockiln.readers import CountedReader, Readable
from rockiln.regular_files import open_regular
from rockiln.sizes.difference import Measured
from rockiln.sizes.installed_owners import find_owners
from rockiln.sizes.inventory import FileSize, Inventory, LayerSize, add_up
from rockiln.sizes.kinds import find_kind
from rockiln.sizes.of_layer import LayerFile, LayerFiles, read_layer
from rockiln.sizes.pack_ops import MANIFEST, count_ops

OpenBlob = Callable[[str], IO[bytes]]
"""Name of a file in the layout or archive → the file, to read and to seek in. Raises ImageError where there is none."""
INDEX_NAME, DOCKER_MANIFEST_NAME = "index.json", "manifest.json"
HISTORY_WORD = "rockiln: "


def measure_layout(path: Path, console: Console) -> Measured:
    """A folder with index.json and blobs."""

    def open_blob(name: str) -> IO[bytes]:
        try:
            return open_regular(path / name)
        except OSError as fault:
            raise ImageError(f"{path / name}: {fault.strerror}", hint="is the layout whole?") from fault

    return _measure(str(path), open_blob, is_docker=False, console=console)


def measure_archive(path: Path, console: Console) -> Measured:
    """A file: an OCI archive, or the output of `docker save`."""
    with _open_archive(path) as file:
        return measure_archive_file(file, str(path), console)


def _open_archive(path: Path) -> IO[bytes]:
    try:
        return open_regular(path, follow=True)
    except OSError as fault:
        hint = "give an OCI layout, an OCI archive, or the output of docker save"
        raise ImageError(f"{path}: {fault.strerror}", hint=hint) from fault


def measure_stream(pieces: Iterable[bytes], name: str, folder: Path, console: Console) -> Measured:
    """The same, arriving in pieces: kept below `folder` while it is read, since its order is not known."""
    with disk_faults_named(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            with console.progress(f"receive {name}", 0, "bytes") as progress:
                for piece in pieces:
                    file.write(piece)
                    progress.advance(len(piece))
            file.seek(0)
            return measure_archive_file(file, name, console)


def measure_archive_file(file: IO[bytes], name: str, console: Console) -> Measured:
    """An archive that can be read at any place."""
    with ExitStack() as stack:
        try:
            archive = stack.enter_context(tarfile.open(fileobj=file))
            members = {posixpath.normpath(member.name): member for member in archive}
        except STREAM_FAULTS as fault:
            hint = "is it an OCI archive, or the output of docker save?"
            raise ImageError(f"{name}: cannot be read as an archive: {name_fault(fault)}", hint=hint) from fault

        def open_blob(wanted: str) -> IO[bytes]:
            member = members.get(posixpath.normpath(wanted))
            opened = archive.extractfile(member) if member else None
            if opened is None:
                raise ImageError(f"{name}: lacks {wanted}", hint="save the image anew")
            return opened

        return _measure(name, open_blob, is_docker=DOCKER_MANIFEST_NAME in members, console=console)


def _measure(name: str, open_blob: OpenBlob, *, is_docker: bool, console: Console) -> Measured:
    def read(blob: str) -> bytes:
        size_bytes = _size_of(open_blob, blob)
        if size_bytes > MAX_BYTES:
            what = f"{blob} has {size_bytes} bytes; such a file has no more than {MAX_BYTES >> 20} MiB"
            raise ImageError(f"{name}: {what}", hint="is the image whole?")
        with closing(open_blob(blob)) as file:
            return file.read(MAX_BYTES + 1)

    parts = read_docker_manifest(read, name) if is_docker else read_oci_index(read, name)
    with console.progress(f"read {name}", _add_sizes(open_blob, parts, name), "bytes") as progress:
        layers = [_read_blob(open_blob, blob, name, progress) for blob in parts.layers]
    sizes = [
        LayerSize(
            title=title, digest=_name_digest(blob), diff_id=layer.diff_id, compressed_bytes=compressed_bytes,
            unpacked_bytes=layer.unpacked_bytes, owners=(),
        )
        for title, blob, (layer, compressed_bytes) in zip(_name_layers(parts), parts.layers, layers, strict=True)
    ]  # fmt: skip
    inventory = _lay_over(name, sizes, [layer for layer, _ in layers])
    return Measured(sizes=add_up(inventory), files=inventory.files)


def _add_sizes(open_blob: OpenBlob, parts: ImageParts, name: str) -> int:
    """Of all layers; each is what the manifest says, where there is one."""
    sizes = {blob: _size_of(open_blob, blob) for blob in parts.layers}
    for blob, wanted in parts.sizes_bytes.items():
        if sizes[blob] != wanted:
            message = f"{name}: {blob} has {sizes[blob]} bytes, and the manifest says {wanted}"
            raise ImageError(message, hint="is the image whole?")
    return sum(sizes[blob] for blob in parts.layers)


def _size_of(open_blob: OpenBlob, blob: str) -> int:
    with closing(open_blob(blob)) as file:
        return file.seek(0, 2)


def _read_blob(open_blob: OpenBlob, blob: str, name: str, progress: Progress) -> tuple[LayerFiles, int]:
    """The layer, and the size of its blob; 0 where it is not compressed, as in what `docker save` writes."""
    with closing(open_blob(blob)) as file:
        head = file.read(4)
        size_bytes = file.seek(0, 2)
        file.seek(0)
        layer = read_layer(CountedReader(cast("Readable", file), progress.advance), f"{name}: {blob}")
    return layer, size_bytes if head.startswith(GZIP) or head == ZSTD else 0


def _name_digest(blob: str) -> str:
    return f"sha256:{posixpath.basename(blob)}" if blob.startswith("blobs/sha256/") else ""


def _name_layers(parts: ImageParts) -> list[str]:
    """What its history says of each layer, where there is one entry a layer."""
    history = parts.settings.history
    if len(history) == len(parts.layers):
        return [step.removeprefix(HISTORY_WORD)[:80] or f"layer {number}" for number, step in enumerate(history, 1)]
    return [f"layer {number}" for number in range(1, len(parts.layers) + 1)]


def _lay_over(name: str, sizes: Sequence[LayerSize], layers: Sequence[LayerFiles]) -> Inventory:
    """What a container sees: whiteouts first, then the layer's own paths, layer by layer."""
    files: dict[str, tuple[LayerFile, str]] = {}
    links: dict[str, str] = {}
    texts: dict[str, bytes] = {}
    for size, layer in zip(sizes, layers, strict=True):
        gone = {*layer.removed, *layer.symlinks, *layer.hardlinks, *layer.files}
        forget_covered((files, links, texts), gone, layer.emptied)
        files |= {path: (file, size.title) for path, file in layer.files.items()}
        links |= layer.symlinks
        texts |= layer.texts
    manifests = {path: text for path, text in sorted(texts.items()) if MANIFEST.fullmatch(path)}
    lists = {path: text for path, text in texts.items() if path not in manifests}
    owners, versions = find_owners(files, lists, links)
    return Inventory(
        name=name,
        digest="",
        files={
            path: FileSize(path, file.size_bytes, file.sha256, owners[path], title, find_kind(path))
            for path, (file, title) in sorted(files.items())
        },
        versions=versions,
        layers=tuple(sizes),
        code={path: file.code for path, (file, _) in sorted(files.items()) if file.code},
        ops=count_ops(manifests.values()),
    )
