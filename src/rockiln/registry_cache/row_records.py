"""A build key ⇄ a tag of a repository that leads to the whole image and its values: rows that nobody builds again.

A build cannot tell whether that is what it would have made, short of making it. So a signed statement goes along: under
this build key, this image, these values. Only what the given key has signed is believed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from rockiln.attest.envelope import ENVELOPE_TYPE, open_envelope, seal
from rockiln.attest.statement import make_statement, read_statement
from rockiln.disk import write_whole
from rockiln.image_config import describe, encode
from rockiln.media_types import INDEX_TYPE, MANIFEST_TYPE
from rockiln.readers import digest_of
from rockiln.registry.artifacts import make_artifact_document
from rockiln.registry.protocol import Manifest, Repository
from rockiln.sign.keys import PrivateKey, PublicKey

ROW_ARTIFACT = "application/vnd.dev.rockiln.row.v1"
VALUES_TYPE = "application/vnd.dev.rockiln.values.v1+json+zstd"
PREDICATE = "https://rockiln.dev/cached-row/v1"
KEPT = ("rootfs", "dropped", "slimmed", "layers", "sizes", "audit")
"""Values that go along. The others name folders of a machine, or are known before the build."""
MOST_BYTES = 1 << 30
"""Of values, unpacked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRecord:
    """What was signed of a row."""

    image_digest: str
    values_digest: str


def row_tag(key: str) -> str:
    """`key` is a build key: what decides an image, byte by byte."""
    return f"row-{key}"


def pack_values(folder: Path) -> bytes:
    """The values of a target's folder as one blob."""
    texts = {name: (folder / f"{name}.json").read_text("utf-8") for name in KEPT}
    return zstandard.ZstdCompressor(level=7).compress(encode(texts))


def unpack_values(content: bytes, folder: Path) -> None:
    """Write them. Raises ValueError for anything else."""
    try:
        unpacked = zstandard.ZstdDecompressor().decompress(content, max_output_size=MOST_BYTES)
        texts = json.loads(unpacked)
        found = {name: str(texts[name]).encode() for name in KEPT}
    except (zstandard.ZstdError, KeyError, TypeError) as fault:
        raise ValueError(f"its values cannot be read: {fault}") from fault
    for name, text in found.items():
        write_whole(folder / f"{name}.json", text)


def make_row(
    image: Manifest, build_key: str, values: bytes, name: str, private: PrivateKey
) -> tuple[bytes, Manifest, Manifest]:
    """→ the envelope, the manifest of what goes along, and the index over it and the image."""
    said = {"buildKey": build_key, "values": digest_of(values)}
    envelope = seal(make_statement(name, image.digest, PREDICATE, said), private)
    record = make_artifact_document(ROW_ARTIFACT, [describe(ENVELOPE_TYPE, envelope), describe(VALUES_TYPE, values)])
    manifest = Manifest(content=encode(record), media_type=MANIFEST_TYPE)
    entries = [
        {**image.descriptor.to_document(), "platform": {"architecture": "amd64", "os": "linux"}},
        {**manifest.descriptor.to_document(), "artifactType": ROW_ARTIFACT},
    ]
    index = {"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": entries}
    return envelope, manifest, Manifest(content=encode(index), media_type=INDEX_TYPE)


def find_row(repository: Repository, build_key: str, public: PublicKey) -> RowRecord | None:
    """What the key has signed about the row; None where nothing is there.

    Raises ValueError for what has another shape or is about something else, VerificationError where the signature does
    not fit, RegistryError and CredentialsError.
    """
    index = repository.read_manifest(row_tag(build_key))
    if index is None:
        return None
    try:
        (entry,) = (item for item in index.document["manifests"] if item.get("artifactType") == ROW_ARTIFACT)
        record = repository.read_manifest(str(entry["digest"]))
        if record is None:
            raise ValueError("what was signed is not there")
        blobs: Mapping[str, Any] = {item["mediaType"]: item for item in record.document["layers"]}
        envelope = repository.read_blob(str(blobs[ENVELOPE_TYPE]["digest"]))
    except (KeyError, TypeError, AttributeError) as fault:
        raise ValueError(f"no cached row: {fault}") from fault
    return _read_signed(envelope, build_key, public, f"{repository.name}:{row_tag(build_key)[:12]}…")


def _read_signed(envelope: bytes, build_key: str, public: PublicKey, name: str) -> RowRecord:
    statement = read_statement(open_envelope(envelope, public, name))
    said = statement.predicate
    if statement.predicate_type != PREDICATE or said.get("buildKey") != build_key or len(statement.digests) != 1:
        raise ValueError("what was signed is about something else")
    return RowRecord(image_digest=statement.digests[0], values_digest=str(said.get("values")))
