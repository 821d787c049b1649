"""A few bytes about an image → a referrer of it: an artifact manifest with a `subject`; and back.

https://github.com/opencontainers/image-spec/blob/main/manifest.md#guidelines-for-artifact-usage
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rockiln.errors import RegistryError
from rockiln.image_config import describe
from rockiln.media_types import EMPTY_TYPE, MANIFEST_TYPE
from rockiln.readers import digest_of
from rockiln.registry.protocol import EMPTY_CONTENT, Descriptor, Manifest, Repository, source_of_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One document that says something about an image."""

    artifact_type: str
    """What kind of thing it is, such as application/vnd.in-toto+json."""
    media_type: str
    """Of `content`."""
    content: bytes
    annotations: Mapping[str, str] = field(default_factory=dict)
    """On the manifest, so that a list of referrers shows them."""


def make_artifact_document(artifact_type: str, layers: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """The manifest of what is no image, of layers by their descriptors."""
    return {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "artifactType": artifact_type,
        "config": describe(EMPTY_TYPE, EMPTY_CONTENT),
        "layers": [*layers],
    }


def make_artifact_manifest(artifact: Artifact, subject: Descriptor) -> Manifest:
    """The same bytes for the same artifact and subject: attaching twice leaves one referrer."""
    bare_subject = Descriptor(media_type=subject.media_type, digest=subject.digest, size_bytes=subject.size_bytes)
    document = make_artifact_document(artifact.artifact_type, [describe(artifact.media_type, artifact.content)])
    document["subject"] = bare_subject.to_document()
    if artifact.annotations:
        document["annotations"] = dict(sorted(artifact.annotations.items()))
    return Manifest(content=json.dumps(document, sort_keys=True).encode(), media_type=MANIFEST_TYPE)


def attach_artifact(repository: Repository, artifact: Artifact, subject_digest: str) -> Descriptor:
    """Push the artifact as a referrer of the manifest `subject_digest`, which has to be there → its descriptor."""
    subject = repository.read_manifest(subject_digest)
    if subject is None:
        hint = "rockiln push TARGET first"
        raise RegistryError(f"{repository.name} has no {subject_digest} to attach something to", hint=hint)
    for content in (EMPTY_CONTENT, artifact.content):
        if not repository.has_blob(digest_of(content)):
            repository.push_blob(source_of_bytes(content))
    manifest = make_artifact_manifest(artifact, subject.descriptor)
    repository.push_manifest(manifest)
    return Descriptor(
        media_type=manifest.media_type, digest=manifest.digest, size_bytes=len(manifest.content),
        artifact_type=artifact.artifact_type, annotations=artifact.annotations,
    )  # fmt: skip


def read_artifact(repository: Repository, referrer: Descriptor) -> Artifact:
    """What `attach_artifact` attached. Raises RegistryError for a referrer of another shape."""
    manifest = repository.read_manifest(referrer.digest)
    try:
        if manifest is None:
            raise ValueError("its manifest is not there")  # noqa: TRY301  # one message for all that may be amiss
        document: Mapping[str, Any] = manifest.document
        (layer,) = document["layers"]
        digest, media_type = str(layer["digest"]), str(layer["mediaType"])
        annotations = {str(key): str(value) for key, value in (document.get("annotations") or {}).items()}
    except (ValueError, TypeError, KeyError, AttributeError) as fault:
        name = f"{repository.name}@{referrer.digest}"
        raise RegistryError(f"{name} is no artifact with one layer: {fault}", hint="who attached it?") from fault
    return Artifact(
        artifact_type=str(document.get("artifactType") or referrer.artifact_type),
        media_type=media_type, content=repository.read_blob(digest), annotations=annotations,
    )  # fmt: skip
