"""LayerPlans → Image: an OCI layout in build/TARGET/image/, and back: a layout → Image.

index.json is replaced last and in one step; everything it names is there before. So whenever the process ends, the
folder holds the old image or the new one, whole.
"""

from __future__ import annotations

import errno
import fcntl
import filecmp
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rockiln.compress import choose_scheme
from rockiln.console import Console
from rockiln.contents import Contents
from rockiln.disk import disk_faults_named
from rockiln.errors import ImageError
from rockiln.folders import Folders
from rockiln.image import Compression, Image, Layer
from rockiln.image_config import (
    LAYER_OWNERS,
    LAYER_TITLE,
    LAYER_UNPACKED,
    TARGET_LABEL,
    describe,
    encode,
    make_config,
    make_manifest,
)
from rockiln.layer_blobs import LayerCache, write_layers
from rockiln.layer_source import LayerSource
from rockiln.layers import LayerPlan
from rockiln.locked import LockedTarget
from rockiln.media_types import INDEX_TYPE, MANIFEST_TYPE
from rockiln.names import image_reference
from rockiln.plan import PlannedTarget
from rockiln.readers import digest_of, is_digest
from rockiln.regular_files import read_regular, size_of_regular
from rockiln.shape_faults import name_shape_fault

REF_NAME = "org.opencontainers.image.ref.name"
IMAGE_NAME = "io.containerd.image.name"
DEFAULT_REGISTRY = "docker.io"
"""What engines put before a name without a registry; containerd wants it written out."""

BLOB_MODE = 0o444
_MAX_BYTES = 16 << 20
"""Of index, manifest and config."""
COPY_INSTEAD = frozenset({errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS})
REBUILD_HINT = "rockiln build TARGET writes it anew"


def write_image(  # noqa: PLR0913, PLR0917  # the last stage needs what all earlier ones made
    planned: PlannedTarget, locked: LockedTarget, plans: Sequence[LayerPlan], contents: Contents, folders: Folders,
    compression: Compression, jobs: int, console: Console, revision: str = "",
    annotations: Mapping[str, str] | None = None, source: LayerSource | None = None,
) -> Image:  # fmt: skip
    """Write layers that neither the cache nor `source` has, then the layout; `annotations` go into the manifest."""
    cache = LayerCache(path=folders.layers_path)
    layers = write_layers(plans, contents, cache, choose_scheme(compression), jobs, console, source)
    config = make_config(planned, locked, layers, revision)
    manifest = make_manifest(config, layers, annotations)
    image = Image(
        target_id=planned.id,
        layout_path=folders.target_path(planned.id) / "image",
        digest=digest_of(manifest),
        config_digest=digest_of(config),
        layers=layers,
        reference=image_reference(planned),
    )
    write_layout(image, config, manifest, cache.blob_path)
    return image


def write_layout(image: Image, config: bytes, manifest: bytes, blob_path_of: Callable[[str], Path]) -> None:
    """https://github.com/opencontainers/image-spec/blob/main/image-layout.md"""
    blobs_path = image.layout_path / "blobs" / "sha256"
    with disk_faults_named(image.layout_path), _locked(image.layout_path):
        blobs_path.mkdir(parents=True, exist_ok=True)
        for layer in image.layers:
            _place_blob(blob_path_of(layer.digest), blobs_path / layer.digest.partition(":")[2])
        for content in (config, manifest):
            _write_file(blobs_path / digest_of(content).partition(":")[2], content)
        _write_file(image.layout_path / "oci-layout", encode({"imageLayoutVersion": "1.0.0"}))
        _write_file(image.layout_path / "index.json", make_index(image, manifest))
        _prune(blobs_path, image)


def make_index(image: Image, manifest: bytes) -> bytes:
    """index.json: the one manifest, with the names under which engines load it."""
    _, _, tag = image.reference.rpartition(":")
    entry = describe(MANIFEST_TYPE, manifest)
    entry["platform"] = {"architecture": "amd64", "os": "linux"}
    entry["annotations"] = {REF_NAME: tag, IMAGE_NAME: f"{DEFAULT_REGISTRY}/{image.reference}"}
    return encode({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [entry]})


@contextmanager
def _locked(layout_path: Path) -> Iterator[None]:
    """One writer at a time; the kernel lets go when the process ends, however it does."""
    layout_path.parent.mkdir(parents=True, exist_ok=True)
    with (layout_path.parent / ".image.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _place_blob(source: Path, path: Path) -> None:
    """Link the blob, or copy it to another file system or owner. An earlier copy stays only if it is whole."""
    if path.exists() and (path.samefile(source) or filecmp.cmp(source, path, shallow=False)):
        return
    partial_path = path.with_name(f".{path.name}")
    partial_path.unlink(missing_ok=True)
    try:
        os.link(source, partial_path)
    except OSError as fault:
        if fault.errno not in COPY_INSTEAD:
            raise
        shutil.copyfile(source, partial_path)
        partial_path.chmod(BLOB_MODE)
    partial_path.replace(path)


def _write_file(path: Path, content: bytes) -> None:
    """Write in one step: a reader sees the old file or the new one."""
    partial_path = path.with_name(f".{path.name}")
    partial_path.unlink(missing_ok=True)
    partial_path.write_bytes(content)
    partial_path.chmod(BLOB_MODE)
    partial_path.replace(path)


def _prune(blobs_path: Path, image: Image) -> None:
    """Remove what the index no longer names."""
    digests = {image.digest, image.config_digest, *(layer.digest for layer in image.layers)}
    for path in blobs_path.iterdir():
        if f"sha256:{path.name}" not in digests:
            with suppress(FileNotFoundError):
                path.unlink()


def read_image(layout_path: Path) -> Image:
    """The image in a layout that rockiln wrote. Hashes manifest and config; of the layers it looks at the sizes only.

    Raises ImageError where something is missing or differs.
    """
    try:
        index = json.loads(read_regular(layout_path / "index.json", _MAX_BYTES))
        entry = index["manifests"][0]
        manifest = json.loads(_read_blob(layout_path, entry))
        config = json.loads(_read_blob(layout_path, manifest["config"]))
        reference = entry["annotations"][IMAGE_NAME].removeprefix(f"{DEFAULT_REGISTRY}/")
        image = describe_layout(layout_path, str(entry["digest"]), manifest, config, reference)
    except FileNotFoundError as fault:
        raise ImageError(f"{fault.filename} is missing", hint=REBUILD_HINT) from fault
    except OSError as fault:
        raise ImageError(f"{fault.filename}: {fault.strerror}", hint=REBUILD_HINT) from fault
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as fault:
        message = f"{layout_path}: not an image that rockiln wrote: {name_shape_fault(fault)}"
        raise ImageError(message, hint=REBUILD_HINT) from fault
    for layer in image.layers:
        _require_size(layout_path, layer)
    return image


def describe_layout(
    layout_path: Path, digest: str, manifest: Mapping[str, Any], config: Mapping[str, Any], reference: str
) -> Image:
    """What manifest and config say. Raises KeyError, TypeError, ValueError or AttributeError for other documents."""
    pairs = zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True)
    return Image(
        target_id=config["config"]["Labels"][TARGET_LABEL], layout_path=layout_path, digest=digest,
        config_digest=manifest["config"]["digest"], layers=tuple(_read_layer(*pair) for pair in pairs),
        reference=reference,
    )  # fmt: skip


def _read_blob(layout_path: Path, descriptor: Mapping[str, Any]) -> bytes:
    content = read_regular(_locate_blob(layout_path, descriptor["digest"]), _MAX_BYTES)
    if digest_of(content) != descriptor["digest"]:
        raise ImageError(f"{layout_path}: blob {descriptor['digest']} has another hash", hint=REBUILD_HINT)
    return content


def _read_layer(descriptor: Mapping[str, Any], diff_id: str) -> Layer:
    annotations = descriptor["annotations"]
    return Layer(
        digest=descriptor["digest"],
        diff_id=diff_id,
        size_bytes=descriptor["size"],
        unpacked_bytes=int(annotations[LAYER_UNPACKED]),
        media_type=descriptor["mediaType"],
        owners=tuple(annotations[LAYER_OWNERS].split()),
        title=annotations[LAYER_TITLE],
    )


def _require_size(layout_path: Path, layer: Layer) -> None:
    path = _locate_blob(layout_path, layer.digest)
    try:
        size_bytes = size_of_regular(path)
    except FileNotFoundError as fault:
        raise ImageError(f"{path} is missing", hint=REBUILD_HINT) from fault
    except OSError as fault:
        raise ImageError(f"{path}: {fault.strerror}", hint=REBUILD_HINT) from fault
    if size_bytes != layer.size_bytes:
        raise ImageError(f"{path} has {size_bytes} bytes, not {layer.size_bytes}", hint=REBUILD_HINT)


def _locate_blob(layout_path: Path, digest: str) -> Path:
    """Raises ImageError for what is no digest: it might be a path to anywhere."""
    if not is_digest(str(digest)):
        raise ImageError(f"{layout_path}: {digest!r} is no sha256 digest", hint=REBUILD_HINT)
    return layout_path / "blobs" / digest.replace(":", "/")
