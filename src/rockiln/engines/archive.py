"""Image → the bytes of a tar that every Docker Engine loads: the OCI layout plus manifest.json, made while it is sent.

Engines before 25 refuse a bare OCI layout and want manifest.json; newer ones and Podman take either.
"""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

from rockiln.engines.layout import MAX_BYTES, REBUILD_HINT, locate_blob, open_blob, read_verified
from rockiln.errors import EngineError
from rockiln.image import Image
from rockiln.regular_files import read_regular

CHUNK_BYTES = 1 << 20
OCI_LAYOUT = b'{"imageLayoutVersion":"1.0.0"}'


def stream_archive(image: Image, tell: Callable[[int], None]) -> Iterator[bytes]:
    """The archive, chunk by chunk; no temporary file. `tell` hears how many bytes of blobs have gone."""
    yield from _member("oci-layout", OCI_LAYOUT)
    yield from _member("index.json", _read_index(image))
    yield from _member("manifest.json", _docker_manifest(image))
    for digest in (image.digest, image.config_digest):
        yield from _member(_blob_name(digest), read_verified(image, digest))
    for digest in dict.fromkeys(layer.digest for layer in image.layers):
        yield from _blob(_blob_name(digest), locate_blob(image, digest), tell)
    yield bytes(2 * tarfile.BLOCKSIZE)


def _read_index(image: Image) -> bytes:
    path = image.layout_path / "index.json"
    try:
        return read_regular(path, MAX_BYTES)
    except OSError as fault:
        raise EngineError(f"{path}: {fault.strerror}", hint=REBUILD_HINT) from fault


def _docker_manifest(image: Image) -> bytes:
    entry = {
        "Config": _blob_name(image.config_digest),
        "RepoTags": [image.reference],
        "Layers": [_blob_name(layer.digest) for layer in image.layers],
    }
    return json.dumps([entry]).encode()


def _blob_name(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def _header(name: str, size_bytes: int) -> bytes:
    header = tarfile.TarInfo(name)
    header.size = size_bytes
    return header.tobuf(tarfile.PAX_FORMAT)


def _member(name: str, content: bytes) -> Iterator[bytes]:
    yield _header(name, len(content)) + content + _padding(len(content))


def _blob(name: str, path: Path, tell: Callable[[int], None]) -> Iterator[bytes]:
    with open_blob(path) as file:
        size_bytes = os.fstat(file.fileno()).st_size
        yield _header(name, size_bytes)
        while chunk := file.read(CHUNK_BYTES):
            tell(len(chunk))
            yield chunk
    yield _padding(size_bytes)


def _padding(size_bytes: int) -> bytes:
    return bytes(-size_bytes % tarfile.BLOCKSIZE)
