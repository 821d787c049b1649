"""Artifact + matrix → Places: every address that may serve a file, best first. Asks nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from packaging.utils import canonicalize_name

from rockiln.artifact import Artifact
from rockiln.matrix import Matrix, Source

if TYPE_CHECKING:
    from pypi_simple import DistributionPackage

SourceUrls = Callable[[Source, Matrix, Mapping[str, str]], tuple[str, ...]]
"""resolve/hosts.source_urls: mirrors, then the source's own address or the one that this host's tools use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One address. `url` is the file itself, or the index page that knows where the file is."""

    source: str
    base_url: str
    url: str
    is_index_page: bool = False

    def __str__(self) -> str:
        return f"source {self.source!r} at {hide_credentials(self.base_url)}"


def find_places(artifact: Artifact, matrix: Matrix, urls: Mapping[str, tuple[str, ...]]) -> tuple[Place, ...]:
    """The source's `urls` (its mirrors first), then a snapshot of a Debian archive.

    Empty for what is not downloaded: our own wheels, and artifacts of a source that the matrix does not know.
    """
    source = matrix.sources.get(artifact.source)
    if source is None:
        return ()
    bases = [*urls.get(source.name, ()), *([source.snapshot] if source.snapshot else [])]
    places = [_make_place(artifact, source, base) for base in bases]
    return tuple(dict.fromkeys(places))  # a mirror may be the same as the source


def find_in_page(page: bytes, content_type: str, page_url: str, artifact: Artifact) -> tuple[str, str]:
    """URL and sha256 ("" if not said) of the artifact's file in a simple-index page; URL "" if it is not listed.

    Of several files of one name the one with the locked hash wins. Raises ValueError for what is no such page.
    """
    listed = _parse_page(page, content_type, page_url, artifact.name)
    if not listed:
        raise ValueError("no files: a login page, perhaps")
    # by URL, not by the link's text, which is free
    files = [(file.url, file.digests.get("sha256", "")) for file in listed if _file_of(file.url) == artifact.file]
    return min(files, key=lambda file: file[1] != artifact.sha256, default=("", ""))


def hide_credentials(url: str) -> str:
    """The URL without user, password and query, fit for a log."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _make_place(artifact: Artifact, source: Source, base_url: str) -> Place:
    folder_url = base_url.rstrip("/") + "/"
    if source.kind == "wheel-index":
        page_url = f"{folder_url}{canonicalize_name(artifact.name)}/"
        return Place(source=source.name, base_url=base_url, url=page_url, is_index_page=True)
    # "+" as %2B: some object stores read a bare "+" as a space
    return Place(source=source.name, base_url=base_url, url=folder_url + quote(artifact.path, safe="/"))


def _file_of(url: str) -> str:
    return unquote(urlsplit(url).path.rpartition("/")[2])


def _parse_page(page: bytes, content_type: str, page_url: str, project: str) -> list[DistributionPackage]:
    import json

    from pypi_simple import ProjectPage, UnsupportedRepoVersionError

    try:
        if "json" in content_type:
            return ProjectPage.from_json_data(json.loads(page), base_url=page_url).packages
        return ProjectPage.from_html(project, page, base_url=page_url).packages
    except UnsupportedRepoVersionError as fault:
        raise ValueError(str(fault)) from fault
