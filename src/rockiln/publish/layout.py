"""OCI layout on disk → Layout: its manifests and blobs, as a registry gets them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rockiln.audit.foreign_json import MAX_BYTES, Object, parse_object, take_object, take_objects, take_text
from rockiln.errors import ImageError
from rockiln.media_types import INDEX_TYPE, MANIFEST_TYPE
from rockiln.readers import digest_of, is_digest
from rockiln.registry.protocol import BlobSource, Manifest
from rockiln.regular_files import open_regular, read_regular, size_of_regular

REBUILD_HINT = "rockiln build TARGET writes it anew"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformImage:
    """One manifest, and the platform that it is for."""

    manifest: Manifest
    platform: Mapping[str, str]
    blobs: tuple[BlobSource, ...]
    """Config and layers, each once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What is pushed for one target: an image a platform, and an index over them where there are several."""

    target_id: str
    images: tuple[PlatformImage, ...]

    @property
    def index(self) -> Manifest | None:
        """Over several platforms; one image needs none before it is promoted."""
        return make_index([(image.manifest, image.platform) for image in self.images]) if self.images[1:] else None

    @property
    def digest(self) -> str:
        """What the target is called in the registry until it has tags."""
        return (self.index or self.images[0].manifest).digest

    @property
    def blobs(self) -> tuple[BlobSource, ...]:
        """Of all platforms, each once, the largest first: they take longest."""
        sources = {source.digest: source for image in self.images for source in image.blobs}
        return tuple(sorted(sources.values(), key=lambda source: (-source.size_bytes, source.digest)))


def read_layout(path: Path, target_id: str) -> Layout:
    """Every image that index.json names. Manifests are hashed; of other blobs the size is compared.

    Raises ImageError.
    """
    name = str(path)
    index = parse_object(_read(path / "index.json"), name)
    images = tuple(_read_image(path, entry, name) for entry in take_objects(index, "manifests", name))
    if not images:
        raise ImageError(f"{name}: holds no image", hint=REBUILD_HINT)
    return Layout(target_id=target_id, images=images)


def _read_image(path: Path, entry: Object, name: str) -> PlatformImage:
    digest = take_text(entry, "digest", name)
    content = _read(_locate(path, digest, name))
    if digest_of(content) != digest:
        raise ImageError(f"{name}: blob {digest} has another hash", hint=REBUILD_HINT)
    document = parse_object(content, name)
    described = (take_object(document, "config", name), *take_objects(document, "layers", name))
    blobs = {take_text(item, "digest", name): _make_source(path, item, name) for item in described}
    platform = {key: str(value) for key, value in take_object(entry, "platform", name).items()}
    return PlatformImage(
        manifest=Manifest(content=content, media_type=take_text(entry, "mediaType", name) or MANIFEST_TYPE),
        platform=platform or {"architecture": "amd64", "os": "linux"}, blobs=tuple(blobs.values()),
    )  # fmt: skip


def _make_source(path: Path, descriptor: Object, name: str) -> BlobSource:
    digest = take_text(descriptor, "digest", name)
    blob_path = _locate(path, digest, name)
    try:
        size_bytes = size_of_regular(blob_path)
    except FileNotFoundError:
        raise ImageError(f"{blob_path} is missing", hint=REBUILD_HINT) from None
    except OSError as fault:
        raise ImageError(f"{blob_path}: {fault.strerror}", hint=REBUILD_HINT) from fault
    if size_bytes != descriptor.get("size"):
        raise ImageError(f"{blob_path} has {size_bytes} bytes, not {descriptor.get('size')}", hint=REBUILD_HINT)
    return BlobSource(digest=digest, size_bytes=size_bytes, open=lambda: open_regular(blob_path))


def _locate(path: Path, digest: str, name: str) -> Path:
    if not is_digest(digest):
        raise ImageError(f"{name}: {digest!r} is no sha256 digest", hint=REBUILD_HINT)
    return path / "blobs" / digest.replace(":", "/")


def _read(path: Path) -> bytes:
    try:
        return read_regular(path, MAX_BYTES)
    except OSError as fault:
        raise ImageError(f"{path}: {fault.strerror}", hint=REBUILD_HINT) from fault


def make_index(
    images: Sequence[tuple[Manifest, Mapping[str, str]]], annotations: Mapping[str, str] | None = None
) -> Manifest:
    """An image index over manifests and their platforms: the same bytes for the same images and annotations.

    https://github.com/opencontainers/image-spec/blob/main/image-index.md
    """
    entries = [
        {**manifest.descriptor.to_document(), "platform": dict(sorted(platform.items()))}
        for manifest, platform in sorted(images, key=lambda pair: sorted(pair[1].items()))
    ]
    document: dict[str, object] = {"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": entries}
    if annotations:
        document["annotations"] = dict(sorted(annotations.items()))
    content = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
    return Manifest(content=content, media_type=INDEX_TYPE)
