"""A manifest with a subject → an entry in the list of referrers, where the registry keeps no such list by itself.

https://github.com/opencontainers/distribution-spec/blob/main/spec.md#referrers-tag-schema
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from rockiln.errors import RegistryError
from rockiln.media_types import INDEX_TYPE
from rockiln.registry.protocol import Descriptor, Manifest, Repository
from rockiln.shape_faults import name_shape_fault

ROUNDS = 10
"""How often an entry is put in again that somebody else's push at the same moment has lost."""


def name_fallback(digest: str) -> str:
    """The tag under which referrers of a digest are listed: sha256-…."""
    return digest.replace(":", "-")


def fall_back(repository: Repository, manifest: Manifest, subject: str, settle: Callable[[], None]) -> None:
    """Add the manifest to the list under the subject's tag.

    Registries have no compare-and-swap, so two who do this at once may lose one entry. Hence each looks again after
    `settle`, a wait of random length, and puts its own back in.
    """
    entry = _describe(manifest)
    for _ in range(ROUNDS):
        entries = list_fallback(repository, subject)
        if any(item.digest == entry.digest for item in entries):
            return
        _put_list(repository, subject, (*entries, entry))
        settle()
    message = f"{repository.name}: the list of referrers of {subject} loses {entry.digest}"
    raise RegistryError(message, hint="does somebody else attach things at this moment? Run it again")


def _put_list(repository: Repository, subject: str, entries: Sequence[Descriptor]) -> None:
    whole = [item.to_document() for item in sorted(entries, key=lambda item: item.digest)]
    document = {"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": whole}
    index = Manifest(content=json.dumps(document, sort_keys=True).encode(), media_type=INDEX_TYPE)
    try:
        repository.push_manifest(index, name_fallback(subject))
    except RegistryError:
        if repository.find_digest(name_fallback(subject)) in {"", index.digest}:
            raise  # it was not that somebody else has put another list there meanwhile


def list_fallback(repository: Repository, digest: str) -> tuple[Descriptor, ...]:
    """What the tag lists; nothing where there is no such tag."""
    index = repository.read_manifest(name_fallback(digest))
    if index is None:
        return ()
    try:
        return read_referrers(index.document)
    except ValueError as fault:
        message = f"{repository.name}:{name_fallback(digest)} is no list of referrers: {fault}"
        raise RegistryError(message, hint="who pushed this tag?") from fault


def read_referrers(document: Mapping[str, object]) -> tuple[Descriptor, ...]:
    """Entries of an index of referrers. Raises RegistryError for another shape."""
    entries = document.get("manifests") or ()
    try:
        if not isinstance(entries, Sequence):
            raise TypeError("no list")  # noqa: TRY301  # one message for all that may be amiss
        return tuple(
            Descriptor(
                media_type=str(entry["mediaType"]), digest=str(entry["digest"]), size_bytes=int(entry["size"]),
                artifact_type=str(entry.get("artifactType") or ""),
                annotations={str(key): str(value) for key, value in (entry.get("annotations") or {}).items()},
            )
            for entry in entries
        )  # fmt: skip
    except (TypeError, KeyError, ValueError, AttributeError) as fault:
        message = f"not a list of referrers: {name_shape_fault(fault)}"
        raise RegistryError(message, hint="is this an OCI registry?") from fault


def _describe(manifest: Manifest) -> Descriptor:
    document = manifest.document
    config = document.get("config")
    config_type = str(config.get("mediaType", "")) if isinstance(config, dict) else ""
    annotations = document.get("annotations") or {}
    said = annotations if isinstance(annotations, dict) else {}
    return Descriptor(
        media_type=manifest.media_type, digest=manifest.digest, size_bytes=len(manifest.content),
        artifact_type=str(document.get("artifactType") or config_type),
        annotations={str(key): str(value) for key, value in said.items()},
    )  # fmt: skip
