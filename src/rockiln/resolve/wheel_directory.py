"""Wheel directory (a folder, or a plain listing over HTTP) + pin → the one wheel, downloaded, hashed, in the store.

Such a directory gives no hashes: the only way to know a wheel's is to have all of its bytes. So it is brought here
once, and kept; uv gets to see its metadata only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rockiln.artifact import Artifact
from rockiln.console import Console
from rockiln.errors import ResolveError
from rockiln.resolve.hosts import hide_password
from rockiln.resolve.probe import cause_of
from rockiln.resolve.unlocked_download import ask_size, download
from rockiln.resolve.wheel_tags import WheelName, WheelPlatform, best_wheel, parse_wheel_name
from rockiln.store import Store, hash_file

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelDirectory:
    """A listing that was read: file name → URL."""

    source: str
    url: str
    files: Mapping[str, str]

    def find(self, pin: Requirement, platform: WheelPlatform) -> WheelName | None:
        """The wheel that a pin means here; None if the directory has no such version for this Python and system.

        Raises ResolveError when the pin means several builds: which one is a decision for the row.
        """
        named = [wheel for wheel in map(parse_wheel_name, sorted(self.files)) if wheel and _is_meant(wheel, pin)]
        fitting = [wheel for wheel in named if best_wheel((wheel,), platform)]
        versions = sorted({wheel.version for wheel in fitting})
        if len(versions) > 1:
            message = f'source "{self.source}": {pin} means any of {", ".join(map(str, versions))}'
            raise ResolveError(message, hint=f"pin the whole version in matrix.toml: {pin.name}==={versions[-1]}")
        return best_wheel(fitting, platform)

    def versions_of(self, name: str) -> tuple[str, ...]:
        """Files of one distribution, for messages."""
        wheels = [wheel for wheel in map(parse_wheel_name, sorted(self.files)) if wheel]
        return tuple(wheel.file for wheel in wheels if wheel.name == canonicalize_name(name))


def _is_meant(wheel: WheelName, pin: Requirement) -> bool:
    return wheel.name == canonicalize_name(pin.name) and pin.specifier.contains(wheel.version, prereleases=True)


def read_directory(source: str, url: str, client: httpx.Client) -> WheelDirectory:
    """List the wheels of a folder or of an HTTP listing."""
    urls = _list_folder(url) if url.startswith("file:") else _list_page(source, url, client)
    files = {unquote(urlsplit(link).path).rpartition("/")[2]: link for link in urls}
    wheels = {file: link for file, link in files.items() if file.endswith(".whl")}
    return WheelDirectory(source=source, url=url, files=wheels)


def _list_folder(url: str) -> list[str]:
    return [path.as_uri() for path in sorted(Path(unquote(urlsplit(url).path)).glob("*.whl"))]


def _list_page(source: str, url: str, client: httpx.Client) -> list[str]:
    """Targets of an HTML page's links; their texts may be cut ("torch-2.8..>")."""
    import httpx
    from pypi_simple import ProjectPage

    try:
        response = client.get(f"{url}/")
        response.raise_for_status()
    except httpx.HTTPError as error:
        raise ResolveError(f'source "{source}": {hide_password(url)} cannot be listed: {cause_of(error)}') from error
    return [link.url for link in ProjectPage.from_html(source, response.content, str(response.url)).packages]


def take_wheel(
    directory: WheelDirectory,
    wheel: WheelName,
    known: Artifact | None,
    store: Store,
    client: httpx.Client,
    console: Console,
) -> Artifact:
    """Have the wheel in the store, and say what it is. `known`: what an earlier lock says of this file."""
    url = directory.files[wheel.file]
    if url.startswith("file:"):
        path = Path(unquote(urlsplit(url).path))
        return _adopt(directory.source, wheel, path, store)
    size_bytes = ask_size(url, client)
    if known and store.holds(known) and known.size_bytes == size_bytes:
        return known
    console.say(f"{wheel.file}: {size_bytes / 1e6:.1f} MB to download, since its source gives no hash of it")
    with download(url, size_bytes, store.path / "unlocked", client, console) as path:
        return _adopt(directory.source, wheel, path, store)


def _adopt(source: str, wheel: WheelName, path: Path, store: Store) -> Artifact:
    sha256, size_bytes = hash_file(path)
    artifact = make_wheel_artifact(source, wheel, sha256, size_bytes)
    if not store.holds(artifact):
        store.adopt(artifact, path)
    return artifact


def make_wheel_artifact(source: str, wheel: WheelName, sha256: str, size_bytes: int) -> Artifact:
    """A wheel's artifact: everything but hash and size stands in its file name."""
    return Artifact(
        kind="wheel",
        name=wheel.name,
        version=str(wheel.version),
        architecture=wheel.architecture,
        source=source,
        path=wheel.file,
        sha256=sha256,
        size_bytes=size_bytes,
    )
