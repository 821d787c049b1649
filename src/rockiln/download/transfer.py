"""Place + Partial → bytes appended, or PlaceError: one attempt at one address, over HTTP or from a file."""

from __future__ import annotations

import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal
from urllib.parse import unquote, urlsplit

from rockiln.artifact import Artifact
from rockiln.console import Progress
from rockiln.download.partial import Partial
from rockiln.errors import IntegrityError
from rockiln.places import Place, find_in_page
from rockiln.store import CHUNK_BYTES

if TYPE_CHECKING:
    import httpx

FaultKind = Literal["gone", "refused", "damaged", "unconnected", "interrupted"]

PAGE_BYTES = 64 << 20
"""No index page is larger; the largest known are near ten."""
PAGE_TYPES = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
BUSY = frozenset({408, 425, 429})
"""Like 5xx, these pass."""


class StoppedError(Exception):
    """The run is over, for a reason told elsewhere."""


class PlaceError(Exception):
    """Why a place did not give the file. Never leaves fetch: it becomes part of a FetchError.

    gone: it answered 404 or 410. refused: asking again is of no use. damaged: it sent other bytes. unconnected: no
    connection came about. interrupted: it was busy, or the connection broke.
    """

    def __init__(self, kind: FaultKind, reason: str, retry_after: str = "") -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.retry_after = retry_after


class Downloader:
    """Attempts downloads; shared by all threads of a run."""

    def __init__(self, client: httpx.Client, progress: Progress, stop: threading.Event) -> None:
        self._client = client
        self._progress = progress
        self._stop = stop

    def attempt(self, place: Place, partial: Partial) -> int:
        """Bring the partial to its end and seal it; returns the bytes that were transferred. Raises PlaceError."""
        url = self._locate(place, partial.artifact) if place.is_index_page else place.url
        moved_bytes = self._copy(url, partial) if _is_file(url) else self._stream(url, partial)
        if partial.size_bytes < partial.artifact.size_bytes:
            raise PlaceError("interrupted", f"ended after {partial.size_bytes} of {partial.artifact.size_bytes} bytes")
        self.seal(place, partial)
        return moved_bytes

    def seal(self, place: Place | None, partial: Partial) -> None:
        """Turn the partial into the artifact, or throw it away."""
        size_bytes = partial.size_bytes
        try:
            partial.seal(str(place or "left by an earlier run"))
        except IntegrityError as fault:
            self._progress.advance(-size_bytes)
            raise PlaceError("damaged", "serves other bytes than those locked (sha256 differs)") from fault

    def _locate(self, place: Place, artifact: Artifact) -> str:
        """The file's URL, from the index page."""
        page, content_type, page_url = self._read_page(place.url)
        try:
            url, sha256 = find_in_page(page, content_type, page_url, artifact)
        except ValueError as fault:
            raise PlaceError("refused", f"its page for {artifact.name} cannot be understood") from fault
        if not url:
            raise PlaceError("gone", f"its page for {artifact.name} does not list the file")
        if sha256 not in {"", artifact.sha256}:
            raise PlaceError("refused", f"lists the file with another sha256, {sha256}")
        return url

    def _read_page(self, url: str) -> tuple[bytes, str, str]:
        if _is_file(url):
            with _read_faults_named(), (_path_of(url) / "index.html").open("rb") as file:
                return file.read(PAGE_BYTES), "text/html", url
        with _http_faults_named(), self._client.stream("GET", url, headers={"Accept": PAGE_TYPES}) as response:
            _require_success(response)
            page = b""
            for chunk in response.iter_bytes(CHUNK_BYTES):
                page += chunk
                if len(page) > PAGE_BYTES:
                    raise PlaceError("refused", f"its index page is larger than {PAGE_BYTES} bytes")
            return page, response.headers.get("Content-Type", ""), str(response.url)

    def _copy(self, url: str, partial: Partial) -> int:
        self._restart(partial)
        with _read_faults_named():
            file = _path_of(url).open("rb")
        with file:
            while chunk := _read_chunk(file):
                self._take(chunk, partial)
        return partial.size_bytes

    def _stream(self, url: str, partial: Partial) -> int:
        headers = _range_headers(url, partial)
        with _http_faults_named(), self._client.stream("GET", url, headers=headers) as response:
            self._accept(response, partial)
            partial.remember_origin(url, _strong_validator(response))
            moved_bytes = 0
            for chunk in response.iter_raw():
                self._take(chunk, partial)
                moved_bytes += len(chunk)
            return moved_bytes

    def _accept(self, response: httpx.Response, partial: Partial) -> None:
        """Go on only with what continues the partial, or starts a file of the right size."""
        if response.status_code == 206:
            first, total = _parse_content_range(response.headers.get("Content-Range", ""))
            if (first, total) == (partial.size_bytes, partial.artifact.size_bytes):
                return
            self._restart(partial)
            raise PlaceError("interrupted", "answered with another range than the one asked for")
        if response.status_code == 416:
            self._restart(partial)
            raise PlaceError("interrupted", "has fewer bytes than were there already")
        _require_success(response)
        self._restart(partial)
        length = response.headers.get("Content-Length", "")
        if length.isdigit() and length != str(partial.artifact.size_bytes):
            raise PlaceError("damaged", f"has {length} bytes where {partial.artifact.size_bytes} are locked")

    def _take(self, chunk: bytes, partial: Partial) -> None:
        if self._stop.is_set():
            raise StoppedError
        room = partial.artifact.size_bytes - partial.size_bytes
        if len(chunk) > room:
            self._restart(partial)
            raise PlaceError("damaged", f"sends more than the {partial.artifact.size_bytes} bytes that are locked")
        partial.append(chunk)
        self._progress.advance(len(chunk))

    def _restart(self, partial: Partial) -> None:
        if partial.size_bytes:
            self._progress.advance(-partial.restart())


def _range_headers(url: str, partial: Partial) -> dict[str, str]:
    if not partial.size_bytes:
        return {}
    validator = partial.validator_for(url)
    return {"Range": f"bytes={partial.size_bytes}-"} | ({"If-Range": validator} if validator else {})


def _strong_validator(response: httpx.Response) -> str:
    etag = response.headers.get("ETag", "")
    return etag if etag.startswith('"') and etag.isascii() else ""


def _parse_content_range(text: str) -> tuple[int, int]:
    """First byte and total size; -1 for what is not said."""
    match = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", text.strip(), re.ASCII)
    return (int(match[1]), int(match[2])) if match else (-1, -1)


def _require_success(response: httpx.Response) -> None:
    status = response.status_code
    if status == 200:
        return
    said = f"answered {status} {response.reason_phrase}".rstrip()
    if status in {404, 410}:
        raise PlaceError("gone", said)
    if status in BUSY or status >= 500:
        raise PlaceError("interrupted", said, response.headers.get("Retry-After", ""))
    raise PlaceError("refused", said)


@contextmanager
def _http_faults_named() -> Iterator[None]:
    import httpx

    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as fault:
        if _is_distrust(fault):
            reason = f"its certificate is not trusted ({_say(fault)}); SSL_CERT_FILE=FILE names the CAs to trust"
            raise PlaceError("refused", reason) from fault
        raise PlaceError("unconnected", f"no connection: {_say(fault)}") from fault
    except httpx.TimeoutException as fault:
        raise PlaceError("interrupted", "stalled: no byte came for too long") from fault
    except httpx.TransportError as fault:
        raise PlaceError("interrupted", f"connection broke: {_say(fault)}") from fault
    except (httpx.HTTPError, httpx.InvalidURL) as fault:
        raise PlaceError("refused", _say(fault)) from fault


@contextmanager
def _read_faults_named() -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as fault:
        raise PlaceError("gone", "no such file") from fault
    except OSError as fault:
        raise PlaceError("refused", f"cannot read: {fault.strerror}") from fault


def _read_chunk(file: BinaryIO) -> bytes:
    with _read_faults_named():
        return file.read(CHUNK_BYTES)


def _is_distrust(fault: BaseException | None) -> bool:
    while fault is not None:
        if isinstance(fault, ssl.SSLCertVerificationError):
            return True
        fault = fault.__cause__ or fault.__context__
    return False


def _say(fault: Exception) -> str:
    """The fault in words, without what may stand before an @ in a URL."""
    return re.sub(r"//[^/\s@]*@", "//", str(fault)) or type(fault).__name__


def _is_file(url: str) -> bool:
    return urlsplit(url).scheme == "file"


def _path_of(url: str) -> Path:
    return Path(unquote(urlsplit(url).path))
