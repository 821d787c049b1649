"""An OCI layout, an archive of one, or an image in a registry → ImageSource: its manifest, blobs and attachments."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from rockiln.attest.attached import REF_NAME, Attachment, read_attached
from rockiln.errors import RegistryError, VerificationError
from rockiln.media_types import INDEX_TYPE, MANIFEST_TYPE
from rockiln.readers import Readable, is_digest
from rockiln.registry.protocol import Descriptor, Repository
from rockiln.regular_files import open_regular, read_regular
from rockiln.scratch import Scratch
from rockiln.shape_faults import name_shape_fault
from rockiln.sign.simple_signing import PAYLOAD_TYPE
from rockiln.write_image import DEFAULT_REGISTRY, IMAGE_NAME

_INDEX_KEYS = frozenset({"schemaVersion", "mediaType", "manifests", "annotations"})
_ENTRY_KEYS = frozenset({"mediaType", "digest", "size", "platform", "annotations", "artifactType"})
_SAID_KEYS = frozenset({REF_NAME, IMAGE_NAME, "org.opencontainers.image.created"})
_ONE_HINT = "copy the image that is meant to a layout of its own"
_PLATFORM = {"architecture": "amd64", "os": "linux"}
_MAX_BYTES = 16 << 20
"""Of one document, as what comes from a registry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRow:
    """The row that a person asked for by its id: the image has to be of it, whatever lies where its images lie."""

    id: str
    reference: str
    """Under which its image is signed: rockiln/FRAMEWORK:ID."""


class ImageSource(Protocol):
    """Where an image and what is attached to it lie. Methods raise VerificationError, or RegistryError."""

    @property
    def name(self) -> str:
        """As a person wrote it."""

    @property
    def row(self) -> AskedRow | None:
        """None where a person named a place, and no row."""

    def read_manifest(self) -> tuple[bytes, str]:
        """The image's manifest and the digest under which it was named; nothing is compared yet."""

    def open_blob(self, digest: str, size_bytes: int) -> Any:
        """A context manager of a stream of the blob's bytes."""

    def read_names(self) -> tuple[str, ...]:
        """Names that the source itself gives the image: the last parts of index annotations."""

    def read_attachments(self) -> tuple[Attachment, ...]:
        """Everything that is attached to the image."""


class LayoutSource:
    """A folder. What is attached lies in another layout, as `rockiln attest` leaves it."""

    def __init__(self, path: Path, attached_path: Path, row: AskedRow | None = None) -> None:
        self.path, self._attached_path, self._row = path, attached_path, row

    @property
    def row(self) -> AskedRow | None:
        return self._row

    @property
    def name(self) -> str:
        return str(self.path)

    def read_manifest(self) -> tuple[bytes, str]:
        layout_path = self.path / "oci-layout"
        if parse_json(_read_file(layout_path), str(layout_path)) != {"imageLayoutVersion": "1.0.0"}:
            raise VerificationError(f"{layout_path}: not what an OCI layout of version 1.0.0 has")
        entry = read_index(_read_file(self.path / "index.json"), str(self.path / "index.json"))
        return _require_size(_read_file(self.path / name_blob(entry["digest"])), entry, self.name), entry["digest"]

    def read_names(self) -> tuple[str, ...]:
        return _read_names(_read_file(self.path / "index.json"), str(self.path / "index.json"))

    @contextmanager
    def open_blob(self, digest: str, size_bytes: int) -> Iterator[Readable]:
        path = self.path / name_blob(digest)
        with _open_file(path) as file:
            found = os.fstat(file.fileno()).st_size
            if found != size_bytes:
                raise VerificationError(f"{path}: has {found} bytes, not {size_bytes}")
            yield file

    def read_attachments(self) -> tuple[Attachment, ...]:
        return read_attached(self._attached_path)


class ArchiveSource:
    """A tar of a layout: `skopeo copy … oci-archive:FILE`, or `tar -c` of the folder."""

    def __init__(self, path: Path, attached_path: Path) -> None:
        self._path, self._attached_path = path, attached_path

    @property
    def row(self) -> None:
        """An archive is named by its path."""

    @property
    def name(self) -> str:
        return str(self._path)

    def read_manifest(self) -> tuple[bytes, str]:
        entry = read_index(self._read("index.json"), f"{self._path}: index.json")
        return _require_size(self._read(name_blob(entry["digest"])), entry, self.name), entry["digest"]

    def read_names(self) -> tuple[str, ...]:
        return _read_names(self._read("index.json"), f"{self._path}: index.json")

    @contextmanager
    def open_blob(self, digest: str, size_bytes: int) -> Iterator[Readable]:
        with self._open(name_blob(digest)) as (file, found):
            if found != size_bytes:
                raise VerificationError(f"{self._path}: {digest} has {found} bytes, not {size_bytes}")
            yield file

    def read_attachments(self) -> tuple[Attachment, ...]:
        return read_attached(self._attached_path)

    def _read(self, name: str) -> bytes:
        with self._open(name) as (file, size_bytes):
            if size_bytes > _MAX_BYTES:
                what = f"{name} has {size_bytes} bytes; such a file has no more than {_MAX_BYTES >> 20} MiB"
                raise VerificationError(f"{self._path}: {what}", hint="is it an OCI archive?")
            return file.read(_MAX_BYTES)

    @contextmanager
    def _open(self, name: str) -> Iterator[tuple[Readable, int]]:
        try:
            with _open_file(self._path, follow=True) as opened, tarfile.open(fileobj=opened) as archive:
                found = {member.name.removeprefix("./"): member for member in archive}
                member = found.get(name)
                file = archive.extractfile(member) if member else None
                if member is None or file is None:
                    raise VerificationError(f"{self._path}: lacks {name}", hint="is it an OCI archive?")
                yield cast("Readable", file), member.size
        except (tarfile.TarError, EOFError) as fault:
            message = f"{self._path}: cannot be read as an archive: it is none, or damaged"
            raise VerificationError(message, hint="an image's path is an OCI layout or a tar archive of one") from fault


class RegistrySource:
    """An image in a registry, by digest; layers pass through a scratch folder, one at a time."""

    def __init__(
        self, repository: Repository, digest: str, scratch_path: Path, row: AskedRow | None = None
    ) -> None:  # fmt: skip
        self._repository, self._digest, self._scratch_path, self._row = repository, digest, scratch_path, row

    @property
    def row(self) -> AskedRow | None:
        return self._row

    @property
    def name(self) -> str:
        return f"{self._repository.name}@{self._digest}"

    def read_manifest(self) -> tuple[bytes, str]:
        manifest = self._repository.read_manifest(self._digest)
        if manifest is None:
            raise RegistryError(f"{self.name}: not there", hint="was it pushed?")
        return manifest.content, self._digest

    def read_names(self) -> tuple[str, ...]:
        return ()

    @contextmanager
    def open_blob(self, digest: str, size_bytes: int) -> Iterator[Readable]:  # noqa: ARG002  # the digest says it all
        with Scratch(self._scratch_path) as folder:
            self._repository.save_blob(digest, folder / "blob")
            with (folder / "blob").open("rb") as file:
                yield file

    def read_attachments(self) -> tuple[Attachment, ...]:
        tags = {f"{self._digest.replace(':', '-')}{suffix}" for suffix in (".sig", ".att")}
        tagged = (self._repository.find_digest(tag) for tag in sorted(tags))
        listed = (one.digest for one in self._repository.list_referrers(self._digest) if _is_ours(one))
        digests = dict.fromkeys(filter(None, (*listed, *tagged)))
        if not digests:
            hint = "its publisher signed nothing"
            raise VerificationError(f"{self.name}: nothing is attached to the image", hint=hint)
        return tuple(self._read_attachment(digest) for digest in digests)

    def _read_attachment(self, digest: str) -> Attachment:
        manifest = self._repository.read_manifest(digest)
        if manifest is None:
            raise VerificationError(f"{self._repository.name}@{digest}: is listed, and not there")
        try:
            document = manifest.document
            digests = [str(row["digest"]) for row in (document["config"], *document["layers"])]
        except (ValueError, KeyError, TypeError) as fault:
            what = name_shape_fault(fault)
            raise VerificationError(f"{self._repository.name}@{digest}: not a manifest: {what}") from fault
        blobs = {one: self._repository.read_blob(one) for one in digests}
        return Attachment(manifest=manifest.content, blobs=blobs)


def read_index(content: bytes, name: str) -> Mapping[str, Any]:
    """The one image's entry. Keys that nothing vouches for are refused: each could hide a change."""
    index = parse_json(content, name)
    try:
        images = [row for row in index["manifests"] if not row.get("artifactType")]
        if len(images) != 1:
            raise VerificationError(f"{name}: names {len(images)} images, and must name one", hint=_ONE_HINT)
        (entry,) = images
        said = entry.get("annotations", {})
        keys = {*index.keys() - _INDEX_KEYS, *entry.keys() - _ENTRY_KEYS, *said.keys() - _SAID_KEYS}
        is_image = (entry["mediaType"], index["schemaVersion"]) == (MANIFEST_TYPE, 2)
        platform = entry.get("platform", _PLATFORM)
        name_blob(entry["digest"])
        has_size = type(entry["size"]) is int
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise VerificationError(f"{name}: not the index of one image: {name_shape_fault(fault)}") from fault
    if keys or not is_image or platform != _PLATFORM or not has_size:
        what = f"unknown keys {sorted(map(str, keys))}" if keys else "media type, version or platform"
        raise VerificationError(f"{name}: not the index of one image for linux/amd64: {what}")
    if index.get("mediaType", INDEX_TYPE) != INDEX_TYPE:
        raise VerificationError(f"{name}: its media type is {index['mediaType']!r}")
    return cast("Mapping[str, Any]", entry)


def _require_size(content: bytes, entry: Mapping[str, Any], name: str) -> bytes:
    if len(content) != entry["size"]:
        raise VerificationError(f"{name}: the manifest has {len(content)} bytes, and the index says {entry['size']}")
    return content


def name_blob(digest: str) -> str:
    """sha256:… → blobs/sha256/…"""
    if not is_digest(digest):
        raise VerificationError(f"{digest!r} is no sha256 digest")
    return f"blobs/{digest.replace(':', '/')}"


def _is_ours(descriptor: Descriptor) -> bool:
    kinds = ("application/vnd.dev.cosign.", "application/vnd.dsse.", "application/vnd.cyclonedx", PAYLOAD_TYPE)
    return descriptor.artifact_type.startswith(kinds)


def _read_names(content: bytes, name: str) -> tuple[str, ...]:
    said = read_index(content, name).get("annotations", {})
    full = str(said.get(IMAGE_NAME, "")).removeprefix(f"{DEFAULT_REGISTRY}/")
    tag = str(said.get(REF_NAME, ""))
    return tuple(filter(None, (full, f":{tag}" if full and tag else "")))


def parse_json(content: bytes, name: str) -> Mapping[str, Any]:
    """A JSON object. Raises VerificationError."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as fault:
        raise VerificationError(f"{name}: damaged JSON: {fault}") from fault
    if not isinstance(value, dict):
        raise VerificationError(f"{name}: no JSON object")
    return value


def _open_file(path: Path, *, follow: bool = False) -> BinaryIO:
    try:
        return open_regular(path, follow=follow)
    except FileNotFoundError:
        raise VerificationError(f"{path}: is missing", hint="was the layout copied whole?") from None
    except OSError as fault:
        raise VerificationError(f"{path}: {fault.strerror}", hint="was the layout copied whole?") from fault


def _read_file(path: Path) -> bytes:
    try:
        return read_regular(path, _MAX_BYTES)
    except OSError as fault:
        raise VerificationError(f"{path}: {fault.strerror}", hint="was the layout copied whole?") from fault
