"""[mirrors] and the settings of this machine's own tools → hosts that no image should name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from rockiln.errors import RockilnError
from rockiln.matrix import Matrix, Source
from rockiln.resolve.hosts import source_urls

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def find_needles(matrix: Matrix, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Hosts by which this build reaches the sources, without those that are the sources' own, sorted."""
    own = {_host(source.url) for source in matrix.sources.values() if source.url}
    found = {needle for source in matrix.sources.values() for needle in _needles_of(source, matrix, environ)}
    return tuple(sorted(found - own - {""}))


def _needles_of(source: Source, matrix: Matrix, environ: Mapping[str, str]) -> Iterator[str]:
    try:
        urls = source_urls(source, matrix, environ)
    except RockilnError:
        return  # no place at all, so nothing to leave behind
    for url in urls:
        needle = _host(url)
        if url.startswith(("http://", "https://", "ftp://")) and not _is_public(needle, source):
            yield needle


def _host(url: str) -> str:
    """The host; with its port where it is this machine, since its name alone says nothing."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in _LOOPBACK:
        return f"{host}:{parts.port}" if parts.port else ""
    return host


def _is_public(host: str, source: Source) -> bool:
    """A distribution's own archive, or the index that everybody has: the image may well name these."""
    if source.kind == "debian-archive":
        return source.distribution.partition("-")[0] in host.split(".")[-2:-1]
    from pypi_simple import PYPI_SIMPLE_ENDPOINT

    return host == urlsplit(PYPI_SIMPLE_ENDPOINT).hostname
