"""Layers + Recipe → Image: an OCI layout on disk, the same digest for the same inputs on any machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Compression = Literal["gzip", "zstd"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One finished layer blob."""

    digest: str
    """sha256:… of the compressed blob."""
    diff_id: str
    """sha256:… of the tar stream."""
    size_bytes: int
    unpacked_bytes: int
    """Sum of the file sizes."""
    media_type: str
    owners: tuple[str, ...]
    title: str
    """Shown in history, e.g. "os: 84 packages"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An OCI layout (https://github.com/opencontainers/image-spec, v1.1) holding one image."""

    target_id: str
    layout_path: Path
    digest: str
    """sha256:… of the manifest: what a registry and `docker pull` call the digest."""
    config_digest: str
    """sha256:… of the config: what `docker images` calls the image id."""
    layers: tuple[Layer, ...]
    reference: str
    """Name under which an engine loads it, e.g. rockiln/jax:jax-0.6.2-cpu-py3.11-debian-12."""

    @property
    def size_bytes(self) -> int:
        """Bytes that a pull of everything transfers."""
        return sum(layer.size_bytes for layer in self.layers)
