"""JSON of an OCI layout, or of `docker save` → which layers make the image, and what it says of itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rockiln.audit.scan import Settings
from rockiln.errors import ImageError, UsageError

Read = Callable[[str], bytes]
"""Name of a small file in the layout or archive → its bytes. Raises ImageError."""
_IMAGE_HINT = "is this an OCI layout, an OCI archive, or the output of docker save?"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageParts:
    """One image in a layout or archive."""

    layers: tuple[str, ...]
    """Names of the layers' files, the lowest first."""
    settings: Settings


def read_oci_index(read: Read, name: str) -> ImageParts:
    """Follow index.json to the image for linux/amd64: https://github.com/opencontainers/image-spec."""
    descriptor = _choose(_parse(read("index.json"), name)["manifests"], name)
    manifest = _parse(read(blob_name(descriptor["digest"], name)), name)
    while "manifests" in manifest:
        manifest = _parse(read(blob_name(_choose(manifest["manifests"], name)["digest"], name)), name)
    try:
        layers = tuple(blob_name(layer["digest"], name) for layer in manifest["layers"])
        config = _parse(read(blob_name(manifest["config"]["digest"], name)), name)
    except (KeyError, TypeError) as fault:
        raise ImageError(f"{name}: not an image manifest: {fault!r}", hint=_IMAGE_HINT) from fault
    return ImageParts(layers=layers, settings=read_settings(config))


def read_docker_manifest(read: Read, name: str) -> ImageParts:
    """manifest.json of `docker save`."""
    rows = json.loads(read("manifest.json"))
    if not isinstance(rows, list) or len(rows) != 1:
        tags = [", ".join(row.get("RepoTags") or ["without a name"]) for row in rows if isinstance(row, dict)]
        raise UsageError(f"{name} holds {len(tags)} images: {'; '.join(tags)}", hint="save one image at a time")
    try:
        config = _parse(read(rows[0]["Config"]), name)
        return ImageParts(layers=tuple(map(str, rows[0]["Layers"])), settings=read_settings(config))
    except (KeyError, TypeError) as fault:
        raise ImageError(f"{name}: not an image's manifest.json: {fault!r}", hint=_IMAGE_HINT) from fault


def read_settings(config: Mapping[str, Any]) -> Settings:
    """https://github.com/opencontainers/image-spec/blob/main/config.md"""
    start = config.get("config") or {}
    pairs = (str(entry).partition("=") for entry in start.get("Env") or ())
    steps = (one for one in config.get("history") or () if isinstance(one, dict))
    return Settings(
        env={name: value for name, _, value in pairs},
        labels={str(name): str(value) for name, value in (start.get("Labels") or {}).items()},
        history=tuple(f"{one.get('created_by', '')} {one.get('comment', '')}".strip() for one in steps),
    )


def blob_name(digest: object, name: str) -> str:
    """sha256:… → blobs/sha256/…"""
    algorithm, _, encoded = str(digest).partition(":")
    if algorithm != "sha256" or len(encoded) != 64 or not encoded.isalnum():
        raise ImageError(f"{name}: {digest!r} is no sha256 digest", hint=_IMAGE_HINT)
    return f"blobs/sha256/{encoded}"


def _parse(content: bytes, name: str) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except ValueError as fault:
        raise ImageError(f"{name}: damaged JSON: {fault}", hint=_IMAGE_HINT) from fault
    if not isinstance(value, dict):
        raise ImageError(f"{name}: not an image's JSON", hint=_IMAGE_HINT)
    return value


def _choose(manifests: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    """The one for linux/amd64; attestations are for no platform."""
    platforms = [(one, one.get("platform") or {}) for one in manifests]
    fitting = [one for one, where in platforms if where.get("architecture", "amd64") == "amd64"]
    if len(fitting) == 1:
        return fitting[0]
    hint = "audit one image: copy it to a layout of its own" if fitting else "images for linux/amd64 can be audited"
    raise UsageError(f"{name} holds {len(fitting)} images for linux/amd64", hint=hint)
