"""A repository of a registry → its blobs, manifests, tags and referrers: what the client and tests' fakes implement.

https://github.com/opencontainers/distribution-spec/blob/main/spec.md (1.1). Nothing here deletes: what was published
stays.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from rockiln.readers import digest_of

EMPTY_CONTENT = b"{}"
"""What https://github.com/opencontainers/image-spec/blob/main/manifest.md wants as the config of what is no image."""

Tell = Callable[[int], None]
"""Told how many more bytes have gone."""


def ignore_bytes(_bytes: int) -> None:
    """A Tell for those who show no progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """How a manifest names content: https://github.com/opencontainers/image-spec/blob/main/descriptor.md."""

    media_type: str
    digest: str
    size_bytes: int
    artifact_type: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)

    def to_document(self) -> dict[str, object]:
        """As JSON; what is empty is left out."""
        document: dict[str, object] = {
            "mediaType": self.media_type, "digest": self.digest, "size": self.size_bytes,
        }  # fmt: skip
        document |= {"artifactType": self.artifact_type} if self.artifact_type else {}
        document |= {"annotations": dict(sorted(self.annotations.items()))} if self.annotations else {}
        return document


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A manifest or index, byte by byte: its digest is what images are named by."""

    content: bytes
    media_type: str

    @property
    def digest(self) -> str:
        return digest_of(self.content)

    @property
    def document(self) -> Mapping[str, Any]:
        """The JSON object. Raises ValueError where it is none."""
        value = json.loads(self.content)
        if not isinstance(value, dict):
            raise ValueError("a manifest that is no JSON object")  # noqa: TRY004  # of JSON, as json.loads does
        return value

    @property
    def descriptor(self) -> Descriptor:
        return Descriptor(media_type=self.media_type, digest=self.digest, size_bytes=len(self.content))


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobSource:
    """A blob to push; `open` gives its bytes from the start, as often as an attempt needs them."""

    digest: str
    size_bytes: int
    open: Callable[[], BinaryIO]


def source_of_file(path: Path, digest: str) -> BlobSource:
    """A file whose content has this digest."""
    return BlobSource(digest=digest, size_bytes=path.stat().st_size, open=lambda: path.open("rb"))


def source_of_bytes(content: bytes) -> BlobSource:
    """A small blob."""
    return BlobSource(digest=digest_of(content), size_bytes=len(content), open=lambda: BytesIO(content))


class Repository(Protocol):
    """HOST/NAME. Methods raise RegistryError (no answer, a wrong one) or CredentialsError (not allowed).

    Safe to use from several threads. What is read is compared with the digest that names it.
    """

    @property
    def name(self) -> str:
        """HOST/NAME."""

    def sibling(self, repository: str) -> Repository:
        """Another repository of the same registry, over the same connections."""

    def has_blob(self, digest: str) -> bool:
        """Whether the blob is there."""

    def read_blob(self, digest: str) -> bytes:
        """A small blob (at most 16 MiB), verified."""

    def save_blob(self, digest: str, path: Path, tell: Tell = ignore_bytes) -> None:
        """A blob of any size as a file, verified; nothing is at `path` before it is whole."""

    def push_blob(self, source: BlobSource, tell: Tell = ignore_bytes) -> None:
        """Upload, whether it is there or not: ask `has_blob` and `mount_blob` first. There and whole afterwards."""

    def mount_blob(self, digest: str, from_repository: str) -> bool:
        """Take a blob over from another repository of the registry (its name without the host); False: it did not."""

    def find_digest(self, version: str) -> str:
        """Digest of the manifest that a tag or digest names; "" where there is none."""

    def read_manifest(self, version: str) -> Manifest | None:
        """The manifest or index that a tag or digest names, verified; None where there is none."""

    def push_manifest(self, manifest: Manifest, tag: str = "") -> str:
        """Put by digest, or under a tag, and read back → its digest. Everything it names has to be there.

        A manifest with a `subject` becomes a referrer of it, by the registry or by the tag schema.
        """

    def list_tags(self) -> tuple[str, ...]:
        """All tags, sorted; none for a repository that is not there yet."""

    def list_referrers(self, digest: str, artifact_type: str = "") -> tuple[Descriptor, ...]:
        """What was attached to the manifest of this digest; of one type, or all."""
