"""Source → URLs at which it is looked for, best first: mirrors, its own url, else what the host's own tools use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from rockiln.errors import ResolveError
from rockiln.lock import mirror_setting, mirror_variable
from rockiln.matrix import Matrix, Source
from rockiln.resolve.host_apt import find_archives
from rockiln.resolve.host_index import find_index


def source_urls(
    source: Source, matrix: Matrix, environ: Mapping[str, str], apt_path: Path = Path("/etc/apt")
) -> tuple[str, ...]:
    """Every URL, without doubles and without a slash at the end.

    Raises ResolveError when the source has no url and this machine's tools know none.
    """
    mirrors = (*environ.get(mirror_variable(source.name), "").split(), *matrix.mirrors.get(source.name, ()))
    own = (source.url,) if source.url else _host_urls(source, environ, apt_path)
    urls = [_as_url(text, matrix.path.parent) for text in (*mirrors, *own)]
    if not urls:
        known = f"this machine's apt knows no archive called {source.distribution!r}"
        raise ResolveError(f'source "{source.name}": it has no url, and {known}', hint=mirror_setting(source.name))
    return tuple(dict.fromkeys(urls))


def _host_urls(source: Source, environ: Mapping[str, str], apt_path: Path) -> tuple[str, ...]:
    if source.kind == "debian-archive":
        return find_archives(source.distribution, apt_path)
    return (find_index(environ),)


def _as_url(text: str, project_path: Path) -> str:
    """A folder's path becomes a file URL; a relative one is below the project."""
    url = text if "://" in text else (project_path / text).resolve().as_uri()
    return url.rstrip("/")


def hide_password(url: str) -> str:
    """The URL without user and password: fit for messages."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
