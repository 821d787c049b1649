"""JSON of an OCI layout, or of `docker save` → which layers make the image, and what it says of itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rockiln.audit.foreign_json import (
    IMAGE_HINT,
    Object,
    parse_json,
    parse_object,
    require_object,
    take_object,
    take_objects,
    take_text,
    take_texts,
)
from rockiln.audit.scan import Settings
from rockiln.errors import ImageError, UsageError

Read = Callable[[str], bytes]
"""Name of a small file in the layout or archive → its bytes. Raises ImageError."""
_MAX_INDEXES = 8
"""Indexes that lead to each other; images have one or two."""
_STEP_KEYS = ("created_by", "comment")
_DIGEST = re.compile(r"sha256:(?P<encoded>[0-9a-f]{64})")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageParts:
    """One image in a layout or archive."""

    layers: tuple[str, ...]
    """Names of the layers' files, the lowest first."""
    settings: Settings
    sizes_bytes: Mapping[str, object] = field(default_factory=dict)
    """Of the layers' files, as the manifest has them; what `docker save` writes names none."""


def read_oci_index(read: Read, name: str) -> ImageParts:
    """Follow index.json to the image for linux/amd64: https://github.com/opencontainers/image-spec.

    Raises ImageError where the JSON is no image's, and UsageError where it is not one image for this platform.
    """
    index = parse_object(read("index.json"), name)
    if "manifests" not in index:
        raise ImageError(f"{name}: index.json names no manifests", hint=IMAGE_HINT)
    manifest = _follow(index, read, name)
    if "layers" not in manifest or "config" not in manifest:
        raise ImageError(f"{name}: the manifest names no layers, or no config", hint=IMAGE_HINT)
    rows = take_objects(manifest, "layers", name)
    layers = tuple(blob_name(layer.get("digest"), name) for layer in rows)
    sizes_bytes = {layer: row.get("size") for layer, row in zip(layers, rows, strict=True)}
    config = parse_object(read(blob_name(take_object(manifest, "config", name).get("digest"), name)), name)
    return ImageParts(layers=layers, settings=read_settings(config, name), sizes_bytes=sizes_bytes)


def _follow(index: Object, read: Read, name: str) -> Object:
    """Index by index to a manifest."""
    for _ in range(_MAX_INDEXES):
        chosen = _choose(take_objects(index, "manifests", name), name)
        index = parse_object(read(blob_name(chosen.get("digest"), name)), name)
        if "manifests" not in index:
            return index
    raise ImageError(f"{name}: its indexes lead from one to another, and to no image", hint=IMAGE_HINT)


def read_docker_manifest(read: Read, name: str) -> ImageParts:
    """manifest.json of `docker save`. Raises ImageError and UsageError as read_oci_index does."""
    value = parse_json(read("manifest.json"), name)
    if not isinstance(value, list):
        raise ImageError(f"{name}: manifest.json is no list of images", hint=IMAGE_HINT)
    rows = [require_object(row, name, "an image in manifest.json") for row in value]
    if len(rows) != 1:
        tags = [", ".join(take_texts(row, "RepoTags", name)) or "without a name" for row in rows]
        raise UsageError(f"{name} holds {len(tags)} images: {'; '.join(tags)}", hint="save one image at a time")
    config_name = take_text(rows[0], "Config", name)
    if not config_name:
        raise ImageError(f"{name}: manifest.json names no Config", hint=IMAGE_HINT)
    config = parse_object(read(config_name), name)
    return ImageParts(layers=take_texts(rows[0], "Layers", name), settings=read_settings(config, name))


def read_settings(config: Object, name: str) -> Settings:
    """https://github.com/opencontainers/image-spec/blob/main/config.md"""
    start = take_object(config, "config", name)
    pairs = (entry.partition("=") for entry in take_texts(start, "Env", name))
    steps = [[take_text(one, key, name) for key in _STEP_KEYS] for one in take_objects(config, "history", name)]
    return Settings(
        env={variable: value for variable, _, value in pairs},
        labels={label: str(value) for label, value in take_object(start, "Labels", name).items()},
        history=tuple(" ".join(step).strip() for step in steps),
    )


def blob_name(digest: object, name: str) -> str:
    """sha256:… → blobs/sha256/…"""
    matched = _DIGEST.fullmatch(digest) if isinstance(digest, str) else None
    if matched is None:
        raise ImageError(f"{name}: {digest!r} is no sha256 digest", hint=IMAGE_HINT)
    return f"blobs/sha256/{matched['encoded']}"


def _choose(manifests: Sequence[Object], name: str) -> Object:
    """The one for linux/amd64; attestations are for no platform."""
    platforms = [(one, take_object(one, "platform", name)) for one in manifests]
    fitting = [one for one, where in platforms if where.get("architecture", "amd64") == "amd64"]
    if len(fitting) == 1:
        return fitting[0]
    hint = "audit one image: copy it to a layout of its own" if fitting else "images for linux/amd64 can be audited"
    raise UsageError(f"{name} holds {len(fitting)} images for linux/amd64", hint=hint)
