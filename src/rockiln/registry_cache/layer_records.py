"""A layer's key ⇄ a tag of a repository that leads to its blob: layers that other machines need not compress again.

The manifest is an artifact of one layer (https://github.com/opencontainers/image-spec/blob/main/manifest.md), so that
the registry keeps the blob as long as the tag.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rockiln.amounts import format_bytes
from rockiln.compress import Scheme
from rockiln.console import Console
from rockiln.errors import CredentialsError, RegistryError
from rockiln.image import Layer
from rockiln.layers import LayerPlan
from rockiln.media_types import MANIFEST_TYPE
from rockiln.readers import is_digest
from rockiln.registry.artifacts import make_artifact_document
from rockiln.registry.protocol import Descriptor, Manifest, Repository
from rockiln.shape_faults import name_shape_fault

LAYER_ARTIFACT = "application/vnd.dev.rockiln.layer.v1"
DIFF_ID = "dev.rockiln.layer.diff-id"
FAULTS = (RegistryError, CredentialsError)
"""After which a build goes on without the registry."""
SHAPE_FAULTS = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What reading documents of another shape raises: what they are about is not taken."""


def layer_tag(name: str) -> str:
    """`name` is KEY-SCHEME: what decides a blob, byte by byte."""
    return f"layer-{name}"


def make_layer_manifest(layer: Mapping[str, Any], media_type: str) -> Manifest:
    """The same bytes for the same layer; `layer` has digest, diff_id and size_bytes."""
    blob = Descriptor(
        media_type=media_type, digest=layer["digest"], size_bytes=layer["size_bytes"],
        annotations={DIFF_ID: layer["diff_id"]},
    )  # fmt: skip
    document = make_artifact_document(LAYER_ARTIFACT, [blob.to_document()])
    return Manifest(content=json.dumps(document, sort_keys=True).encode(), media_type=MANIFEST_TYPE)


@dataclass(kw_only=True)
class Trust:
    """Whether a registry is still asked. One fault is enough: a build without it is better than one that waits."""

    console: Console
    name: str
    is_lost: bool = False

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    def give_up(self, fault: Exception) -> None:
        """Warn, once, of a registry that does not answer or refuses."""
        with self._lock:
            was_lost, self.is_lost = self.is_lost, True
        if not was_lost:
            self.console.warn(f"cache {self.name}: {fault}; building without it")

    def doubt(self, what: str, reason: str) -> None:
        """Warn of something in it that is not what it is said to be."""
        self.console.warn(f"cache {self.name}: {what} is not taken: {reason}")


class RegistryLayers:
    """See rockiln.layer_source.LayerSource, which says what each method does."""

    def __init__(self, repository: Repository, trust: Trust) -> None:
        self._repository, self._trust = repository, trust
        self._taken: dict[str, int] = {}

    def find(self, plan: LayerPlan, scheme: Scheme) -> Layer | None:
        tag = layer_tag(f"{plan.key}-{scheme.tag}")
        if self._trust.is_lost:
            return None
        try:
            manifest = self._repository.read_manifest(tag)
            return _read_layer(manifest, plan, scheme) if manifest else None
        except FAULTS as fault:
            self._trust.give_up(fault)
        except SHAPE_FAULTS as fault:
            self._trust.doubt(tag, name_shape_fault(fault))
        return None

    def save(self, layer: Layer, path: Path) -> bool:
        if self._trust.is_lost:
            return False
        try:
            self._repository.save_blob(layer.digest, path)
        except FAULTS as fault:
            self._trust.give_up(fault)
            return False
        self._taken[layer.digest] = layer.size_bytes
        return True

    def refuse(self, layer: Layer, reason: str) -> None:
        self._taken.pop(layer.digest, None)
        self._trust.doubt(f"layer {layer.digest[:19]}…", reason)

    def describe(self) -> str:
        """What came from here; "" for nothing."""
        if not self._taken:
            return ""
        total = format_bytes(sum(self._taken.values()))
        return f"{len(self._taken)} layers ({total}) taken from {self._repository.name}"


def _read_layer(manifest: Manifest, plan: LayerPlan, scheme: Scheme) -> Layer:
    document = manifest.document
    (blob,) = document["layers"]
    if document["artifactType"] != LAYER_ARTIFACT or blob["mediaType"] != scheme.media_type:
        raise ValueError("a manifest of something else")
    return Layer(
        digest=_require_digest(blob["digest"]), diff_id=_require_digest(blob["annotations"][DIFF_ID]),
        size_bytes=int(blob["size"]), unpacked_bytes=plan.unpacked_bytes, media_type=scheme.media_type,
        owners=plan.owners, title=plan.title,
    )  # fmt: skip


def _require_digest(text: object) -> str:
    """It becomes a file's name. Raises ValueError."""
    if not is_digest(str(text)):
        raise ValueError(f"{text!r} is no sha256 digest")
    return str(text)
