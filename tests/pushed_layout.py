"""A small OCI layout, and pushing it: for tests of what lies between a client and a registry."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from rockiln.console import Console
from rockiln.download.patience import Patience
from rockiln.publish.layout import Layout, read_layout
from rockiln.publish.push import Pushed, push_layout
from rockiln.registry.client import RegistryClient, open_repository
from rockiln.registry.reference import parse_reference
from rockiln.registry.session import Access
from rockiln.registry.upload_notes import NotesFolder
from tiny_image import make_tar, write_layout

QUIET = Console(None)
HASTY = Patience(
    attempts=6, unanswered_attempts=2, first_wait_s=0.01, longest_wait_s=0.02, longest_retry_after_s=2, stall_s=2
)
"""Tests wait for nothing."""


def make_layout(folder: Path, *, layers: int = 4, layer_bytes: int = 50_000, seed: str = "") -> Layout:
    """An image of layers that do not compress."""
    tars = [
        make_tar([(f"file{number}", 0o644, hashlib.shake_128(f"{seed}{number}".encode()).digest(layer_bytes))])
        for number in range(layers)
    ]
    write_layout(folder, tars, {"Labels": {"dev.rockiln.target": "tiny"}})
    return read_layout(folder, "tiny")


def push(
    layout: Layout, name: str, environ: Mapping[str, str], *, access: Access | None = None,
    patience: Patience = HASTY, notes_path: Path | None = None, siblings: tuple[str, ...] = (), threads: int = 4,
) -> Pushed:  # fmt: skip
    """As `rockiln push` does it."""
    notes = NotesFolder(path=notes_path) if notes_path else None
    reference = parse_reference(name)
    with open_repository(reference, environ, access=access, patience=patience, notes=notes) as repository:
        repository.log_in(to_push=True)
        return push_layout(layout, repository, siblings, threads, QUIET)


def is_whole(repository: RegistryClient, layout: Layout) -> bool:
    """Whether every byte of the layout is in the repository."""
    manifest = repository.read_manifest(layout.digest)
    blobs = [repository.read_blob(source.digest) for source in layout.blobs]
    return manifest is not None and len(blobs) == len(layout.blobs)
