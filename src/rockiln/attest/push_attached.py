"""Attachments → a registry: referrers of an image that is there, and the tags under which cosign looks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rockiln.attest.attached import Attachment, read_attached
from rockiln.console import Console
from rockiln.errors import RegistryError, VerificationError
from rockiln.image_config import encode
from rockiln.media_types import MANIFEST_TYPE
from rockiln.registry.protocol import Manifest, Repository, source_of_bytes
from rockiln.shape_faults import name_shape_fault


def read_of_image(folder: Path, digest: str, console: Console) -> tuple[Attachment, ...]:
    """What `rockiln attest` left in `folder` for the image `digest`; nothing where that is of another image.

    Raises VerificationError for a folder that is there and holds something else, or less.
    """
    if not os.path.lexists(folder):
        return ()
    if not os.path.lexists(folder / "index.json"):
        message = f"{folder} is there, and cannot be read: it has no index.json"
        raise VerificationError(message, hint="rockiln attest --key FILE TARGET writes it anew; or remove it")
    attachments = read_attached(folder)
    if any((one.document.get("subject") or {}).get("digest") != digest for one in attachments):
        console.warn(f"{folder} is about another image, and stays here: rockiln attest --key FILE TARGET")
        return ()
    return attachments


def push_attachments(repository: Repository, attachments: Sequence[Attachment]) -> tuple[str, ...]:
    """Push each by digest, then under its tag → digests. Doing it twice changes nothing.

    Where a tag of cosign's holds what somebody else signed, theirs stays in it: the tag then names both.
    """
    for one in attachments:
        for digest, content in one.blobs.items():
            if not repository.has_blob(digest):
                repository.push_blob(source_of_bytes(content))
        if not repository.find_digest(one.digest):
            repository.push_manifest(Manifest(content=one.manifest, media_type=MANIFEST_TYPE))
        if one.tag:
            _move_tag(repository, one)
    return tuple(one.digest for one in attachments)


def _move_tag(repository: Repository, attachment: Attachment) -> None:
    there = repository.read_manifest(attachment.tag)
    merged = attachment.manifest if there is None else _merge(attachment, there, repository.name)
    if there is None or there.content != merged:
        repository.push_manifest(Manifest(content=merged, media_type=MANIFEST_TYPE), attachment.tag)


def _merge(attachment: Attachment, there: Manifest, name: str) -> bytes:
    """Ours, and the layers of theirs that ours lacks, annotations counting: two signatures are over the same bytes."""
    ours = dict(attachment.document)
    try:
        theirs: list[Mapping[str, Any]] = [dict(row) for row in there.document["layers"]]
    except (ValueError, KeyError, TypeError) as fault:
        hint = "who pushed this tag?"
        raise RegistryError(f"{name}:{attachment.tag} is no manifest: {name_shape_fault(fault)}", hint=hint) from fault
    more = [row for row in theirs if row not in ours["layers"]]
    if not more:
        return attachment.manifest
    mine = [row for row in ours["layers"] if row not in theirs]
    return there.content if not mine else encode({**ours, "layers": [*theirs, *mine]})
