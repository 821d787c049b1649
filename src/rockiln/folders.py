"""Project, cache and build paths → Folders: where everything on the host lives."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

VALUES = ("plan", "lock", "fetch", "rootfs", "dropped", "slimmed", "layers", "sizes", "audit", "image")
"""Stages whose values a build leaves in its target's folder, as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """The host folders of one invocation. Only cli.py reads the environment to choose them."""

    project_path: Path
    """Holds matrix.toml, matrix.lock, images/, plugins/ and compat/."""
    cache_path: Path
    """Shared by projects and safe to delete: everything in it can be made again."""
    build_path: Path
    """One folder a target: each stage's value as JSON, and the image."""

    @property
    def store_path(self) -> Path:
        """Artifacts by sha256, as fetched."""
        return self.cache_path / "store"

    @property
    def contents_path(self) -> Path:
        """Unpacked files by sha256."""
        return self.cache_path / "contents"

    @property
    def unpacked_path(self) -> Path:
        """Manifests of unpacked artifacts, by artifact hash and unpacker version."""
        return self.cache_path / "unpacked"

    @property
    def layers_path(self) -> Path:
        """Finished layer blobs by digest, and an index from layer key to digest."""
        return self.cache_path / "layers"

    @property
    def scratch_paths(self) -> tuple[Path, ...]:
        """Where processes keep what they have not finished, and where those that were killed leave it."""
        finished = (self.store_path, self.contents_path, self.layers_path)
        return (*(path / "partial" for path in finished), self.cache_path / "workshop")

    def target_path(self, target_id: str) -> Path:
        """The folder of one target's values and image."""
        return self.build_path / target_id
