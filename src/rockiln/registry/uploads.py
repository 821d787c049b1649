"""BlobSource → the blob in a repository: in chunks, each gone on with where the last one was cut.

https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pushing-a-blob-in-chunks
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote, urljoin

from rockiln.download.patience import PROGRESS_BYTES
from rockiln.errors import ImageError, RegistryError
from rockiln.registry.answers import MissingFault, PassingFault, describe, has_code, require_status
from rockiln.registry.protocol import BlobSource, Tell
from rockiln.registry.session import Session
from rockiln.registry.tokens import Scopes

if TYPE_CHECKING:
    import httpx

CHUNK_BYTES = 48 << 20
"""Below the 100 MB that common proxies allow a request to have."""
READ_BYTES = 1 << 20
NO_CHUNKS = frozenset({400, 405, 411, 413, 415, 501})
"""Answers to a chunk of registries that take a blob in one piece only, though the specification wants chunks."""


class UploadNotes(Protocol):
    """Remembers where an upload goes on, past the end of this process."""

    def recall(self, repository: str, digest: str) -> str:
        """The upload's address; "" where none is known. `repository` is HOST/NAME."""

    def remember(self, repository: str, digest: str, location: str) -> None:
        """Keep the address; "" forgets it."""


@dataclass(slots=True, kw_only=True)
class _Upload:
    """An upload under way."""

    location: str = ""
    offset: int = 0
    is_certain: bool = False
    """Whether the registry has told us `offset` since the last fault."""
    chunk_bytes: int = 0
    """The largest request."""


class Uploader:
    """Pushes blobs into one repository."""

    def __init__(self, session: Session, repository: str, scopes: Scopes, notes: UploadNotes) -> None:
        self._session, self._repository, self._scopes, self._notes = session, repository, scopes, notes
        self._name = f"{session.registry}/{repository}"
        self._url = f"/v2/{repository}/blobs/uploads/"

    def push(self, source: BlobSource, tell: Tell) -> None:
        """Raises RegistryError where it does not arrive, ImageError where the source is not what its digest says."""
        what = f"{self._name}: {source.digest[:19]}…"
        location = self._notes.recall(self._name, source.digest)
        upload = _Upload(location=location, chunk_bytes=CHUNK_BYTES)
        told = _Told(tell)
        failures, most = 0, 0
        while True:
            try:
                self._go_on(upload, source, told)
            except PassingFault as fault:
                failures = 1 if told.has_moved() or upload.offset > most else failures + 1
                most = max(most, upload.offset)
                self._session.wait(what, failures, fault)
                upload.is_certain = False
                if self._is_there(source.digest):
                    break
            except MissingFault as fault:  # the registry has forgotten the upload: begin anew
                failures += 1
                self._session.wait(what, failures, PassingFault(f"the registry answers {fault}"))
                upload.location = ""
            else:
                break
        self._notes.remember(self._name, source.digest, "")
        told.reach(source.size_bytes)

    def _is_there(self, digest: str) -> bool:
        """An answer that was lost on the way may have been: it is done."""
        url = f"/v2/{self._repository}/blobs/{digest}"
        return self._session.find(url, lambda: self._session.ask("HEAD", url, self._scopes)) is not None

    def _go_on(self, upload: _Upload, source: BlobSource, told: _Told) -> None:
        if upload.location and not upload.is_certain:
            self._find_offset(upload)
        if not upload.location or upload.offset > source.size_bytes:
            self._start(upload)
        while source.size_bytes - upload.offset > upload.chunk_bytes:
            self._send_chunk(upload, source, told)
            self._notes.remember(self._name, source.digest, upload.location)
        self._finish(upload, source, told)

    def _start(self, upload: _Upload) -> None:
        response = self._session.ask("POST", self._url, self._scopes, headers={"Content-Length": "0"})
        require_status(response, 202)
        upload.location, upload.offset, upload.is_certain = self._locate(response), 0, True
        least = response.headers.get("oci-chunk-min-length", "")
        upload.chunk_bytes = max(upload.chunk_bytes, int(least) if least.isdecimal() else 0)

    def _find_offset(self, upload: _Upload) -> None:
        """Ask how far the registry is; where it does not say, begin anew."""
        try:
            response = self._session.ask("GET", upload.location, self._scopes)
        except (MissingFault, RegistryError):
            upload.location = ""
            return
        except PassingFault as fault:
            if fault.is_unanswered:  # it may be the address of an earlier run
                upload.location = ""
            raise
        if response.status_code not in {202, 204}:
            upload.location = ""
            return
        upload.location = self._locate(response, upload.location)
        upload.offset, upload.is_certain = _read_range(response, 0), True

    def _send_chunk(self, upload: _Upload, source: BlobSource, told: _Told) -> None:
        start, end = upload.offset, upload.offset + upload.chunk_bytes
        response = self._send("PATCH", upload.location, start, end, source, told)
        if response.status_code in NO_CHUNKS:
            upload.location, upload.chunk_bytes = "", source.size_bytes
        if response.status_code in {416, *NO_CHUNKS}:
            raise PassingFault(f"the registry answers {describe(response)}")
        require_status(response, 202)
        upload.location = self._locate(response, upload.location)
        upload.offset = _read_range(response, end)
        if upload.offset <= start:
            raise PassingFault(f"the registry has {upload.offset} bytes after {end} were sent")

    def _finish(self, upload: _Upload, source: BlobSource, told: _Told) -> None:
        """The rest, and the digest that the whole must have."""
        joint = "&" if "?" in upload.location else "?"
        location = f"{upload.location}{joint}digest={quote(source.digest, safe='')}"
        response = self._send("PUT", location, upload.offset, source.size_bytes, source, told)
        if response.status_code in {400, 416} and not has_code(response, "NAME_INVALID"):
            upload.location = ""
            _require_whole(source)
            raise PassingFault(f"the registry answers {describe(response)}")
        require_status(response, 201)
        echoed = response.headers.get("docker-content-digest", source.digest)
        if echoed != source.digest:
            message = f"{self._name}: {source.digest} was sent, the registry has {echoed}"
            raise RegistryError(message, hint="is a proxy in between? No tag was moved")

    def _send(
        self, method: str, url: str, start: int, end: int, source: BlobSource, told: _Told
    ) -> httpx.Response:  # fmt: skip
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(end - start)}
        if end > start and not (start == 0 and end == source.size_bytes):
            headers["Content-Range"] = f"{start}-{end - 1}"

        def read() -> Iterator[bytes]:
            with source.open() as file:
                file.seek(start)
                position = start
                while position < end:
                    piece = file.read(min(READ_BYTES, end - position))
                    if not piece:
                        raise ImageError(f"{source.digest}: the blob ends at {position} of {end} bytes", hint=_REBUILD)
                    yield piece
                    position += len(piece)
                    told.reach(position)

        return self._session.ask(method, url, self._scopes, headers=headers, body=read if end > start else b"")

    def _locate(self, response: httpx.Response, known: str = "") -> str:
        """Where the upload goes on: absolute, or below the registry; https stays https."""
        location = str(response.headers.get("location", known))
        if not location:
            message = f"{self._session.registry} names no place to upload to"
            raise RegistryError(message, hint="is this an OCI registry?")
        try:
            address = urljoin(self._session.url + self._url, location)
        except ValueError as fault:
            message = f"{self._session.registry} names {location!r} as the place to upload to"
            raise RegistryError(message, hint="is a proxy in between?") from fault
        insecure = self._session.url.replace("https://", "http://", 1)
        return address.replace(insecure, self._session.url, 1) if address.startswith(insecure) else address


_REBUILD = "the image on disk is damaged: rockiln build --verify TARGET"


class _Told:
    """Progress of one blob: what is sent a second time does not count again."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._most, self._seen = tell, 0, 0

    def reach(self, position: int) -> None:
        if position > self._most:
            self._tell(position - self._most)
            self._most = position

    def has_moved(self) -> bool:
        """Whether a fair amount went since the last time this was asked."""
        moved, self._seen = self._most >= self._seen + PROGRESS_BYTES, self._most
        return moved


def _read_range(response: httpx.Response, assumed: int) -> int:
    """How many bytes the registry has: "0-LAST", where "0-0" of Docker's registry means none."""
    _, dash, last = response.headers.get("range", "").removeprefix("bytes=").partition("-")
    if not dash or not last.isdigit():
        return assumed
    return int(last) + 1 if int(last) else 0


def _require_whole(source: BlobSource) -> None:
    digest = hashlib.sha256()
    with source.open() as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    if f"sha256:{digest.hexdigest()}" != source.digest:
        raise ImageError(f"{source.digest}: the blob on disk has another hash", hint=_REBUILD)
