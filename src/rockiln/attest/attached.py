"""An image's digest + documents + key → Attachments: manifests that name the image as their subject; a layout of them.

Each is a referrer (https://github.com/opencontainers/image-spec/blob/main/manifest.md) and, where cosign looks by tag,
has that tag, too: https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md#tag-based-discovery. Beside the
image's own layout they are a second layout: readers of the first find one image in it, as before.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rockiln.attest.envelope import ENVELOPE_TYPE, seal
from rockiln.attest.statement import CYCLONEDX, PROVENANCE, make_statement
from rockiln.disk import disk_faults_named, write_whole
from rockiln.errors import VerificationError
from rockiln.image_config import describe, encode
from rockiln.media_types import CONFIG_TYPE, INDEX_TYPE, MANIFEST_TYPE
from rockiln.readers import digest_of, is_digest
from rockiln.registry.protocol import Manifest
from rockiln.regular_files import read_regular
from rockiln.sbom.document import MEDIA_TYPE as SBOM_TYPE
from rockiln.scratch import Scratch, remove_folder
from rockiln.shape_faults import name_shape_fault
from rockiln.sign.keys import PrivateKey
from rockiln.sign.simple_signing import PAYLOAD_TYPE, SIGNATURE_ANNOTATION, make_payload

SIGNATURE_ARTIFACT = "application/vnd.dev.cosign.artifact.sig.v1+json"
"""What cosign calls signatures among referrers."""
SUFFIXES: Mapping[str, str] = {SIGNATURE_ARTIFACT: ".sig", ENVELOPE_TYPE: ".att"}
"""Of cosign's tags, by the type of what they name."""
PREDICATE_ANNOTATION = "predicateType"
REF_NAME = "org.opencontainers.image.ref.name"
MAX_BYTES = 64 << 20
"""Of one blob of an attachment; the SBOM of TensorFlow's image is 0.2 MB."""
MAX_INDEX_BYTES = 16 << 20
_LAYOUT = encode({"imageLayoutVersion": "1.0.0"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The image that something is attached to."""

    digest: str
    """sha256:… of its manifest."""
    size_bytes: int
    """Of its manifest."""
    reference: str
    """The name that is signed with it, e.g. rockiln/jax:jax-0.6.2-cpu-py3.11-debian-12."""
    media_type: str = MANIFEST_TYPE

    def to_document(self) -> dict[str, object]:
        """As a descriptor."""
        return {"mediaType": self.media_type, "digest": self.digest, "size": self.size_bytes}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """One manifest, and every blob that it names."""

    manifest: bytes
    blobs: Mapping[str, bytes]
    tag: str = ""
    """Where cosign looks for it; "" for a referrer only."""

    @property
    def digest(self) -> str:
        return digest_of(self.manifest)

    @property
    def document(self) -> Mapping[str, Any]:
        """The manifest, decoded. Raises ValueError for what is none."""
        return Manifest(content=self.manifest, media_type=MANIFEST_TYPE).document


def make_attachments(
    subject: Subject, sbom: bytes, provenance: Mapping[str, Any], key: PrivateKey
) -> tuple[Attachment, ...]:
    """Signature, statements (provenance and SBOM) and the SBOM itself, for tools that read no envelopes."""
    payload = make_payload(subject.digest, subject.reference)
    signature = base64.b64encode(key.sign(payload)).decode()
    statements = ((PROVENANCE, provenance), (CYCLONEDX, json.loads(sbom)))
    envelopes = [
        (seal(make_statement(subject.reference, subject.digest, kind, predicate), key), ENVELOPE_TYPE,
         {PREDICATE_ANNOTATION: kind, SIGNATURE_ANNOTATION: ""})
        for kind, predicate in statements
    ]  # fmt: skip
    return (
        make_attachment(
            subject, SIGNATURE_ARTIFACT, [(payload, PAYLOAD_TYPE, {SIGNATURE_ANNOTATION: signature})], is_tagged=True
        ),
        make_attachment(subject, ENVELOPE_TYPE, envelopes, is_tagged=True),
        make_attachment(subject, SBOM_TYPE, [(sbom, SBOM_TYPE, {})]),
    )


def make_attachment(
    subject: Subject, artifact_type: str, layers: Sequence[tuple[bytes, str, Mapping[str, str]]], *,
    is_tagged: bool = False,
) -> Attachment:  # fmt: skip
    """Layers are (content, media type, annotations). With `is_tagged`, cosign finds it by its tag."""
    diff_ids = [digest_of(content) for content, _, _ in layers]
    config = encode({"architecture": "", "config": {}, "os": "", "rootfs": {"type": "layers", "diff_ids": diff_ids}})
    described = [
        describe(media_type, content) | ({"annotations": dict(said)} if said else {})
        for content, media_type, said in layers
    ]
    document: dict[str, Any] = {
        "schemaVersion": 2, "mediaType": MANIFEST_TYPE, "artifactType": artifact_type,
        "config": describe(CONFIG_TYPE, config), "layers": described, "subject": subject.to_document(),
    }  # fmt: skip
    contents = (config, *(content for content, _, _ in layers))
    return Attachment(
        manifest=encode(document), blobs={digest_of(one): one for one in contents},
        tag=_name_tag(document) if is_tagged else "",
    )  # fmt: skip


def write_attached(folder: Path, attachments: Sequence[Attachment]) -> None:
    """A layout at `folder`, whole: an older one goes in one step."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        _write_attached(folder, attachments)
    finally:
        with suppress(OSError):  # another process attaches at this moment
            (folder.parent / ".attaching").rmdir()


def _write_attached(folder: Path, attachments: Sequence[Attachment]) -> None:
    with disk_faults_named(folder), Scratch(folder.parent / ".attaching") as made:
        for content in (content for one in attachments for content in (one.manifest, *one.blobs.values())):
            write_whole(_blob_path(made, digest_of(content)), content, 0o444)
        write_whole(made / "oci-layout", _LAYOUT, 0o444)
        write_whole(made / "index.json", _make_index(attachments), 0o444)
        remove_folder(folder)
        made.rename(folder)


def read_attached(folder: Path) -> tuple[Attachment, ...]:
    """What `write_attached` wrote; each byte is held against the digest that names it. Raises VerificationError."""
    index_path = folder / "index.json"
    try:
        content = read_regular(index_path, MAX_INDEX_BYTES)
        index = json.loads(content)
        entries = [(str(row["digest"]), dict(row.get("annotations", {}))) for row in index["manifests"]]
    except FileNotFoundError:
        hint = "rockiln attest --key FILE TARGET makes it; --attached DIR says where it is"
        raise VerificationError(f"{folder}: nothing is attached to the image", hint=hint) from None
    except OSError as fault:
        raise VerificationError(f"{index_path}: {fault.strerror}", hint="was it copied whole?") from fault
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        raise VerificationError(f"{index_path}: damaged: {name_shape_fault(fault)}") from fault
    attachments = tuple(_read_one(folder, digest, str(said.get(REF_NAME, ""))) for digest, said in entries)
    _require_own_form(folder, content, attachments)
    return attachments


def _make_index(attachments: Sequence[Attachment]) -> bytes:
    entries = []
    for one in attachments:
        entry = describe(MANIFEST_TYPE, one.manifest) | {"artifactType": one.document.get("artifactType")}
        entries.append(entry | ({"annotations": {REF_NAME: one.tag}} if one.tag else {}))
    return encode({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": entries})


def _read_one(folder: Path, digest: str, tag: str) -> Attachment:
    manifest = _read_blob(folder, digest)
    try:
        document = json.loads(manifest)
        digests = [str(row["digest"]) for row in (document["config"], *document["layers"])]
    except (ValueError, KeyError, TypeError, RecursionError) as fault:
        raise VerificationError(f"{_blob_path(folder, digest)}: not a manifest: {name_shape_fault(fault)}") from fault
    if tag and tag != _name_tag(document):
        raise VerificationError(f"{folder / 'index.json'}: {tag} is not the tag of {digest}")
    return Attachment(manifest=manifest, blobs={one: _read_blob(folder, one) for one in digests}, tag=tag)


def _name_tag(document: Mapping[str, Any]) -> str:
    """The tag of cosign's for a manifest of this type and subject."""
    suffix = SUFFIXES.get(str(document.get("artifactType")), "")
    subject = document.get("subject") or {}
    return f"{str(subject.get('digest')).replace(':', '-')}{suffix}" if suffix else ""


def _require_own_form(folder: Path, index: bytes, attachments: Sequence[Attachment]) -> None:
    """The index is no more than a list of what was read; nothing else vouches for its bytes."""
    layout = folder / "oci-layout"
    found_layout = _read_file(layout, len(_LAYOUT)) if os.path.lexists(layout) else b""
    for path, found, wanted in (
        (folder / "index.json", index, _make_index(attachments)), (layout, found_layout, _LAYOUT),
    ):  # fmt: skip
        if found != wanted:
            raise VerificationError(f"{path}: changed since it was written", hint="rockiln attest writes it anew")


def _read_blob(folder: Path, digest: str) -> bytes:
    path = _blob_path(folder, digest)
    content = _read_file(path, MAX_BYTES)
    if digest_of(content) != digest:
        raise VerificationError(f"{path}: the content has another hash than its name")
    return content


def _read_file(path: Path, max_bytes: int) -> bytes:
    try:
        return read_regular(path, max_bytes)
    except OSError as fault:
        raise VerificationError(f"{path}: {fault.strerror}", hint="was it copied whole?") from fault


def _blob_path(folder: Path, digest: str) -> Path:
    if not is_digest(digest):
        raise VerificationError(f"{folder}: {digest!r} is no sha256 digest")
    return folder / "blobs" / digest.replace(":", "/")
