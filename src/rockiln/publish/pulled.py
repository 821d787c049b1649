"""Repository + digest → Image: the published image as an OCI layout in the cache, each blob verified."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rockiln.console import Console, Progress
from rockiln.disk import disk_faults_named, require_room, write_whole
from rockiln.download.threads import map_threads
from rockiln.errors import RegistryError
from rockiln.image import Image
from rockiln.media_types import INDEX_TYPE
from rockiln.registry.protocol import Manifest, Repository
from rockiln.shape_faults import name_shape_fault
from rockiln.sizes.of_registry import choose_platform
from rockiln.write_image import DEFAULT_REGISTRY, IMAGE_NAME, REF_NAME, read_image

THREADS = 4


def pull_image(
    repository: Repository, digest: str, folder: Path, known: Sequence[Path], console: Console
) -> Image:  # fmt: skip
    """The image below `folder`/sha256/HEX; blobs that `known` folders hold are not fetched again.

    Of an index, the image for linux/amd64. Raises RegistryError, and ImageError for an image that rockiln did not make.
    """
    manifest = read_platform_manifest(repository, digest)
    layout_path = folder / manifest.digest.replace(":", "/")
    blobs_path = layout_path / "blobs" / "sha256"
    with disk_faults_named(layout_path):
        blobs_path.mkdir(parents=True, exist_ok=True)
    document: Mapping[str, Any] = manifest.document
    try:
        blobs = {str(item["digest"]): int(item["size"]) for item in (document["config"], *document["layers"])}
    except (KeyError, TypeError, ValueError) as fault:
        message = f"{repository.name}@{manifest.digest}: no image: {name_shape_fault(fault)}"
        raise RegistryError(message, hint="name an image that rockiln pushed") from fault
    _fetch_blobs(repository, blobs, blobs_path, known, console)
    write_whole(blobs_path / manifest.digest.partition(":")[2], manifest.content)
    write_whole(layout_path / "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
    write_whole(layout_path / "index.json", _make_index(manifest))
    return read_image(layout_path)


def read_platform_manifest(repository: Repository, digest: str) -> Manifest:
    """The manifest itself, or of an index the one for linux/amd64."""
    manifest = repository.read_manifest(digest)
    if manifest is None:
        raise RegistryError(f"{repository.name} has no {digest}", hint="rockiln push prints the digest")
    try:
        is_index = "manifests" in manifest.document
    except ValueError as fault:
        raise RegistryError(f"{repository.name}@{digest}: {fault}", hint="is this an image?") from fault
    if not is_index:
        return manifest
    return read_platform_manifest(repository, choose_platform(manifest.document, f"{repository.name}@{digest}"))


def _fetch_blobs(
    repository: Repository, blobs: Mapping[str, int], blobs_path: Path, known: Sequence[Path], console: Console
) -> None:  # fmt: skip
    absent = [digest for digest, size in blobs.items() if not _is_here(blobs_path, digest, size, known)]
    require_room(blobs_path, sum(blobs[digest] for digest in absent))
    ended = threading.Event()
    title = f"pull {repository.name}"
    with console.progress(title, sum(blobs[digest] for digest in absent), "bytes") as progress:

        def fetch(digest: str) -> None:
            _fetch_blob(repository, digest, blobs_path, progress)

        for _ in map_threads(fetch, absent, THREADS, ended):
            pass


def _fetch_blob(repository: Repository, digest: str, blobs_path: Path, progress: Progress) -> None:
    repository.save_blob(digest, blobs_path / digest.partition(":")[2], progress.advance)


def _is_here(blobs_path: Path, digest: str, size_bytes: int, known: Sequence[Path]) -> bool:
    """Whether the blob is in the layout already, or can be linked from a folder that has the same bytes."""
    name = digest.partition(":")[2]
    path = blobs_path / name
    if _is_whole(path, digest, size_bytes):
        return True
    for folder in known:
        if _is_whole(folder / name, digest, size_bytes):
            with suppress(OSError):  # another file system, or another user's: it is fetched then
                path.unlink(missing_ok=True)
                os.link(folder / name, path)
                return True
    return False


def _is_whole(path: Path, digest: str, size_bytes: int) -> bool:
    if not path.is_file() or path.stat().st_size != size_bytes:
        return False
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}" == digest


def _make_index(manifest: Manifest) -> bytes:
    """As `rockiln build` writes it, under a name that says which digest it is."""
    tag = manifest.digest.partition(":")[2][:12]
    entry = {
        **manifest.descriptor.to_document(),
        "platform": {"architecture": "amd64", "os": "linux"},
        "annotations": {REF_NAME: tag, IMAGE_NAME: f"{DEFAULT_REGISTRY}/rockiln/pulled:{tag}"},
    }
    return json.dumps({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [entry]}, sort_keys=True).encode()
