"""Place + Partial → bytes appended, or PlaceError: one attempt at one address, over HTTP or from a file."""

from __future__ import annotations

import re
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal
from urllib.parse import unquote, urlsplit

from rockiln.artifact import Artifact
from rockiln.console import Progress
from rockiln.download.partial import Partial
from rockiln.download.silent import Silent
from rockiln.errors import IntegrityError
from rockiln.places import Place, find_in_page
from rockiln.store import CHUNK_BYTES

if TYPE_CHECKING:
    import httpx

FaultKind = Literal["gone", "refused", "damaged", "unanswered", "interrupted"]

PAGE_BYTES = 64 << 20
"""No index page is larger; the largest known are near ten."""
PAGE_TYPES = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
BUSY = frozenset({408, 425, 429})
"""Like 5xx, these pass."""


class StoppedError(Exception):
    """The run is over, for a reason told elsewhere."""


class PlaceError(Exception):
    """Why a place did not give the file. Never leaves fetch: it becomes part of a FetchError.

    gone: it answered 404 or 410. refused: asking again is of no use. damaged: it sent other bytes. unanswered: not
    even a status came. interrupted: it was busy, or the connection broke within the answer.
    """

    def __init__(self, kind: FaultKind, reason: str, retry_after: str = "") -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.retry_after = retry_after


class Downloader:
    """Attempts downloads; shared by all threads of a run."""

    def __init__(self, client: httpx.Client, progress: Progress, silent: Silent, stop: threading.Event) -> None:
        self._client = client
        self._progress = progress
        self._silent = silent
        self._stop = stop

    def attempt(self, place: Place, partial: Partial) -> None:
        """Bring the partial to its end and seal it. Raises PlaceError."""
        url = self._locate(place, partial.artifact) if place.is_index_page else place.url
        if _is_file(url):
            self._copy(url, partial)
        else:
            self._stream(url, place, partial)
        if partial.size_bytes < partial.artifact.size_bytes:
            raise PlaceError("interrupted", f"ended after {partial.size_bytes} of {partial.artifact.size_bytes} bytes")
        self.seal(place, partial)

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
        page, content_type, page_url = self._read_page(place)
        try:
            url, sha256 = find_in_page(page, content_type, page_url, artifact)
        except ValueError as fault:
            raise PlaceError("refused", f"its page for {artifact.name} cannot be understood") from fault
        if not url:
            raise PlaceError("gone", f"its page for {artifact.name} does not list the file")
        if sha256 not in {"", artifact.sha256}:
            raise PlaceError("refused", f"lists the file with another sha256, {sha256}")
        return url

    def _read_page(self, place: Place) -> tuple[bytes, str, str]:
        """Bytes, content type and final URL of an index page."""
        if _is_file(place.url):
            with _read_faults_named(), (_path_of(place.url) / "index.html").open("rb") as file:
                return file.read(PAGE_BYTES), "text/html", place.url
        with self._open(place.url, place, {"Accept": PAGE_TYPES, "Accept-Encoding": "gzip"}) as response:
            _require_success(response)
            page = bytearray()
            for chunk in response.iter_bytes(CHUNK_BYTES):
                page += chunk
                if len(page) > PAGE_BYTES:
                    raise PlaceError("refused", f"its index page is larger than {PAGE_BYTES} bytes")
            return bytes(page), response.headers.get("Content-Type", ""), str(response.url)

    def _copy(self, url: str, partial: Partial) -> None:
        self._restart(partial)
        with _read_faults_named():
            file = _path_of(url).open("rb")
        with file:
            while chunk := _read_chunk(file):
                self._take(chunk, partial)

    def _stream(self, url: str, place: Place, partial: Partial) -> None:
        with self._open(url, place, _range_headers(url, partial)) as response:
            self._accept(response, partial)
            partial.remember_origin(url, _strong_validator(response))
            for chunk in response.iter_raw():
                self._take(chunk, partial)

    @contextmanager
    def _open(self, url: str, place: Place, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        """GET; a password in the URL goes before one in netrc."""
        import httpx

        auth = None if urlsplit(url).username else httpx.USE_CLIENT_DEFAULT
        is_answered = False
        try:
            with self._client.stream("GET", url, headers=headers, auth=auth) as response:
                self._silent.note_answer(place)
                is_answered = True
                yield response
        except (httpx.HTTPError, httpx.InvalidURL) as fault:
            raise _name_fault(fault, is_answered=is_answered) from fault

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


def _name_fault(fault: Exception, *, is_answered: bool) -> PlaceError:
    import httpx

    if _is_distrust(fault):
        reason = f"its certificate is not trusted ({_say(fault)}); SSL_CERT_FILE=FILE names the CAs to trust"
        return PlaceError("refused", reason)
    if not isinstance(fault, httpx.TransportError) or isinstance(fault, httpx.UnsupportedProtocol):
        return PlaceError("refused", _say(fault))
    kind: FaultKind = "interrupted" if is_answered else "unanswered"
    if isinstance(fault, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
        return PlaceError(kind, f"no connection: {_say(fault)}")
    if isinstance(fault, httpx.TimeoutException):
        return PlaceError(kind, "stalled: no byte came for too long")
    return PlaceError(kind, f"connection broke: {_say(fault)}")


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
