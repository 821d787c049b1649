"""A row's pins + its wheel sources → the exact wheels: uv chooses, and each comes from the source the row means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rockiln.artifact import Artifact
from rockiln.console import Console
from rockiln.errors import ResolveError
from rockiln.lock_file import SHA256
from rockiln.matrix import Source
from rockiln.resolve.unlocked_download import ask_size
from rockiln.resolve.uv_folder import Asked, HeldWheel, Index, Resolved, ask_uv, file_of, url_of
from rockiln.resolve.wheel_directory import WheelDirectory, make_wheel_artifact, read_directory, take_wheel
from rockiln.resolve.wheel_tags import WheelName, WheelPlatform, best_wheel, parse_wheel_name
from rockiln.store import Store

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelSources:
    """A row's wheel sources, best first, and the URL at which each answered."""

    sources: tuple[Source, ...]
    urls: Mapping[str, str]

    def claimants(self, name: str) -> tuple[Source, ...]:
        """Sources that may give a distribution: those whose `packages` name it, else those that name none."""
        claiming = tuple(source for source in self.sources if _claims(source, name))
        return claiming or tuple(source for source in self.sources if not source.packages)


def _claims(source: Source, name: str) -> bool:
    return any(fnmatchcase(canonicalize_name(name), _canonical_glob(glob)) for glob in source.packages)


def _canonical_glob(glob: str) -> str:
    return glob.lower().replace("_", "-").replace(".", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelDesk:
    """What resolving wheels works with."""

    client: httpx.Client
    store: Store
    cache_path: Path
    environ: Mapping[str, str]
    console: Console
    known: Mapping[tuple[str, str], Artifact]
    """(source, file) → what an earlier lock says of a file whose source gives no hash."""


def resolve_wheels(
    pins: tuple[Requirement, ...],
    own: Mapping[Requirement, Artifact],
    wheel_sources: WheelSources,
    platform: WheelPlatform,
    desk: WheelDesk,
) -> tuple[Artifact, ...]:
    """Every wheel for `pins` and `own` (built here, in the store already) and what they need. Raises ResolveError."""
    taken = {**_take_from_directories(pins, wheel_sources, platform, desk), **own}
    asked = Asked(
        pins=tuple(pin for pin in pins if pin not in taken),
        bound=_bind(pins, taken, wheel_sources),
        wheels=tuple(_hold(pin, artifact, desk.store) for pin, artifact in taken.items()),
        indexes=_list_indexes(wheel_sources),
        platform=platform,
    )
    chosen = ask_uv(asked, desk.cache_path, desk.environ) if asked.pins or asked.wheels else ()
    for wheel in chosen:
        _require_claimant(wheel, wheel_sources)
    return tuple(sorted({*taken.values(), *(_make_artifact(wheel, platform, desk.client) for wheel in chosen)}))


def _list_indexes(wheel_sources: WheelSources) -> tuple[Index, ...]:
    indexes = (source for source in wheel_sources.sources if source.kind == "wheel-index")
    urls = wheel_sources.urls
    return tuple(Index(source=item.name, url=urls[item.name], is_explicit=bool(item.packages)) for item in indexes)


def _hold(pin: Requirement, artifact: Artifact, store: Store) -> HeldWheel:
    return HeldWheel(pin=pin, file=artifact.file, path=store.path_of(artifact))


def _take_from_directories(
    pins: Iterable[Requirement], wheel_sources: WheelSources, platform: WheelPlatform, desk: WheelDesk
) -> Mapping[Requirement, Artifact]:
    directories = {
        source.name: read_directory(source.name, wheel_sources.urls[source.name], desk.client)
        for source in wheel_sources.sources
        if source.kind == "wheel-directory"
    }
    taken = {}
    for pin in pins:
        found = _find_in_directories(pin, wheel_sources, directories, platform)
        if found:
            directory, wheel = found
            known = desk.known.get((directory.source, wheel.file))
            taken[pin] = take_wheel(directory, wheel, known, desk.store, desk.client, desk.console)
    return taken


def _find_in_directories(
    pin: Requirement, wheel_sources: WheelSources, directories: Mapping[str, WheelDirectory], platform: WheelPlatform
) -> tuple[WheelDirectory, WheelName] | None:
    """None: an index is to give it. A pin that only directories may give, and none has, is an error."""
    claimants = wheel_sources.claimants(pin.name)
    for source in claimants:
        if source.kind == "wheel-index":
            return None
        wheel = directories[source.name].find(pin, platform)
        if wheel:
            return directories[source.name], wheel
    names = ", ".join(f'"{source.name}"' for source in claimants) or "any source of the row"
    seen = [file for source in claimants for file in directories[source.name].versions_of(pin.name)]
    there = f"; there are {', '.join(seen)}" if seen else ""
    message = f"{pin} for Python {platform.python} and glibc {platform.glibc} is not in {names}{there}"
    raise ResolveError(message, hint="in matrix.toml, correct the pin, put another candidate first, or add a source")


def _bind(
    pins: Iterable[Requirement], taken: Mapping[Requirement, Artifact], wheel_sources: WheelSources
) -> Mapping[str, str]:
    """Pins that an index claims by name come from that index or not at all."""
    bound: dict[str, str] = {}
    for pin in pins:
        claimants = [source for source in wheel_sources.claimants(pin.name) if source.kind == "wheel-index"]
        if pin not in taken and claimants and claimants[0].packages:
            bound[canonicalize_name(pin.name)] = claimants[0].name
    return bound


def _require_claimant(wheel: Resolved, wheel_sources: WheelSources) -> None:
    """A dependency that another source claims must not slip in from elsewhere: torch for CUDA looks like torch."""
    names = [source.name for source in wheel_sources.claimants(wheel.name)]
    if wheel.index not in names:
        message = f'{wheel.name} {wheel.version} is needed, and would come from "{wheel.index}", but {names} claim it'
        raise ResolveError(message, hint=f"pin {wheel.name} in the wheels of the row's candidate")


def _make_artifact(wheel: Resolved, platform: WheelPlatform, client: httpx.Client) -> Artifact:
    files = {name: entry for entry in wheel.files if (name := parse_wheel_name(file_of(entry)))}
    best = best_wheel(files, platform)
    if best is None:
        message = f"{wheel.name} {wheel.version} has no wheel for Python {platform.python} and glibc {platform.glibc}"
        raise ResolveError(message, hint="pin a version that has one in the wheels of the row's candidate")
    entry = files[best]
    sha256 = str(entry.get("hashes", {}).get("sha256", ""))
    if not SHA256.fullmatch(sha256):
        message = f'source "{wheel.index}" gives no sha256 of {best.file}'
        raise ResolveError(message, hint='an index without hashes can be declared as kind = "wheel-directory"')
    return make_wheel_artifact(wheel.index, best, sha256, _size_of(entry, client))


def _size_of(entry: Mapping[str, Any], client: httpx.Client) -> int:
    """Simple indexes in HTML do not give sizes; the file's server does."""
    if "size" in entry:
        return int(entry["size"])
    url = url_of(entry)
    return Path(unquote(urlsplit(url).path)).stat().st_size if url.startswith("file:") else ask_size(url, client)
