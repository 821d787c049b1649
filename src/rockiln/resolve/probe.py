"""Source + URLs → the first that answers, within seconds, or why none does: before apt or uv wait for minutes."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from rockiln.download.client import open_client
from rockiln.download.patience import Patience
from rockiln.errors import ResolveError
from rockiln.matrix import Matrix, Source
from rockiln.resolve.hosts import hide_password, source_urls

if TYPE_CHECKING:
    import httpx

CONNECT_S = 5.0
ANSWER_S = 10.0
TRIES = 2
_NO_STATUS = 999
_RETRIED = frozenset({429, 500, 502, 503, 504, _NO_STATUS})
_NO_HEAD = frozenset({400, 403, 405, 501})
"""Answers by which servers say that they do not do HEAD."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """A URL of a source that answered; those before it in its list did not."""

    source: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Silent:
    """A source of which no URL answered."""

    source: str
    refusals: tuple[tuple[str, str], ...]
    """(URL without password, what happened)."""
    note: str = ""
    """Why there is nothing to ask."""

    def describe(self) -> str:
        """One phrase that names every URL: for the console of this machine."""
        return self._say("; ".join(f"{url}: {why}" for url, why in self.refusals))

    def describe_shared(self, url: str) -> str:
        """One phrase that names no host, for files that are shared; `url` is the source's own."""
        whys = [why for refused, why in self.refusals if refused == hide_password(url.rstrip("/"))]
        return self._say(f"the url that matrix.toml gives: {whys[0]}" if whys else "none of its places answers")

    def _say(self, why: str) -> str:
        return f'source "{self.source}" cannot be reached ({self.note or why})'


Probe = Answering | Silent


def probe_sources(
    sources: tuple[Source, ...], wanted: Mapping[str, str], matrix: Matrix, environ: Mapping[str, str]
) -> Mapping[str, Probe]:
    """Ask all of them at once. `wanted`: name of a wheel index → a project that it is asked for."""
    with open_client(environ, Patience(connect_s=CONNECT_S, stall_s=ANSWER_S), connections=8) as client:

        def probe(source: Source) -> Probe:
            try:
                urls = source_urls(source, matrix, environ)
            except ResolveError as error:
                return Silent(source=source.name, refusals=(), note=error.message.partition(": ")[2])
            return _probe(source, urls, _paths(source, wanted.get(source.name, "pip")), client)

        with ThreadPoolExecutor(max_workers=8) as pool:
            return dict(zip((source.name for source in sources), pool.map(probe, sources), strict=True))


def _paths(source: Source, project: str) -> tuple[str, ...]:
    """What has to be there for the source to be any use."""
    if source.kind == "debian-archive":
        return tuple(f"dists/{suite}/InRelease" for suite in source.suites)
    return (f"{project}/",) if source.kind == "wheel-index" else ("",)


def _probe(source: Source, urls: tuple[str, ...], paths: tuple[str, ...], client: httpx.Client) -> Probe:
    refusals = []
    for url in urls:
        why = next(filter(None, (_ask(url, path, source, client) for path in paths)), "")
        if not why:
            return Answering(source=source.name, url=url)
        refusals.append((hide_password(url), why))
    return Silent(source=source.name, refusals=tuple(refusals))


def _ask(url: str, path: str, source: Source, client: httpx.Client) -> str:
    """"" for an answer, else what happened, in words that are the same on every machine."""
    is_index = source.kind == "wheel-index"
    if url.startswith("file:"):
        host_path = Path(unquote(urlsplit(url).path)) / ("" if is_index else path)
        return "" if host_path.exists() else "no such file or directory"
    why = ""
    for _ in range(TRIES):
        status, why = _ask_once(f"{url}/{quote(path)}", client)
        if status < 400 or (status == 404 and is_index):  # an index may lack a project and be well
            return ""
        if status not in _RETRIED:
            break
    return f"{why} for {path}" if path and status != _NO_STATUS else why


def ask_headers(url: str, client: httpx.Client) -> httpx.Response:
    """The answer without its body, also from servers that do not do HEAD. Raises httpx's errors."""
    response = client.head(url)
    if response.status_code in _NO_HEAD:
        with client.stream("GET", url) as response:
            pass
    return response


def _ask_once(url: str, client: httpx.Client) -> tuple[int, str]:
    import httpx

    try:
        status = ask_headers(url, client).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return _NO_STATUS, cause_of(error)
    return status, f"HTTP {status}"


def cause_of(error: Exception) -> str:
    """The system's own word for it, without the library's, and without a URL that may hold a password."""
    import httpx

    if isinstance(error, httpx.HTTPStatusError):
        return f"HTTP {error.response.status_code}"
    if isinstance(error, httpx.TimeoutException):
        return "no answer in time"
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted here: {link.verify_message}"
        if isinstance(link, socket.gaierror):
            return "its host name is not known here"
        if isinstance(link, OSError) and link.errno:
            return os.strerror(link.errno).lower()
        link = link.__cause__ or link.__context__
    return "no connection"
