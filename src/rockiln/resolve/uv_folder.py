"""Requirements + indexes → what uv resolves them to, in a private folder, deaf to the host's uv settings."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rockiln.disk import disk_faults_named
from rockiln.errors import ResolveError
from rockiln.resolve.hosts import hide_password
from rockiln.resolve.wheel_tags import WheelPlatform

KEPT_VARIABLES = frozenset({
    "UV_SYSTEM_CERTS", "UV_NATIVE_TLS", "UV_INSECURE_HOST", "UV_HTTP_TIMEOUT", "UV_HTTP_RETRIES", "UV_KEYRING_PROVIDER",
    "UV_CREDENTIALS_DIR", "UV_CONCURRENT_DOWNLOADS",
})  # fmt: skip
"""How uv reaches the network. Whatever else UV_… may say would make the lock differ from host to host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """A wheel index as uv sees it."""

    source: str
    url: str
    is_explicit: bool
    """Only what is bound to it comes from here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldWheel:
    """A pin that is filled already, by a wheel in the store: uv reads its metadata only."""

    pin: Requirement
    file: str
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What uv is asked for."""

    pins: tuple[Requirement, ...]
    bound: Mapping[str, str]
    """Distribution → source of the index that alone may give it."""
    wheels: tuple[HeldWheel, ...]
    indexes: tuple[Index, ...]
    platform: WheelPlatform


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """One wheel that uv chose from an index."""

    name: str
    version: str
    index: str
    """Source of the index."""
    files: tuple[Mapping[str, Any], ...]
    """pylock.toml's [[packages]] wheels, verbatim."""


def ask_uv(asked: Asked, cache_path: Path, environ: Mapping[str, str]) -> tuple[Resolved, ...]:
    """Resolve; what `asked.wheels` fills is left out. Raises ResolveError with uv's own reasons."""
    with disk_faults_named(cache_path):
        cache_path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="rockiln-uv-", dir=cache_path) as name:
            path = Path(name).absolute()
            (path / "pyproject.toml").write_text(render_project(asked, path), encoding="utf-8")
            _compile(path, asked, cache_path, environ, "pylock.toml")
            packages = tomllib.loads((path / "pylock.toml").read_text(encoding="utf-8")).get("packages", [])
            places = _find_places(path, asked, cache_path, environ)
    filled = {canonicalize_name(wheel.pin.name) for wheel in asked.wheels}
    return tuple(_read_package(package, places) for package in packages if package["name"] not in filled)


def render_project(asked: Asked, path: Path) -> str:
    """A pyproject.toml: uv binds a package to one index only by its tool.uv.sources."""
    filled = [_point_to(wheel.pin, write_stub(wheel, path)) for wheel in asked.wheels]
    python = f"{asked.platform.python.major}.{asked.platform.python.minor}"
    lines = [
        "[project]", 'name = "this-row"', 'version = "0"', f'requires-python = ">={python}"',
        f"dependencies = {json.dumps([*map(str, asked.pins), *filled])}",
        "[tool.uv.sources]",
        *(f"{json.dumps(name)} = {{ index = {json.dumps(source)} }}" for name, source in sorted(asked.bound.items())),
    ]  # fmt: skip
    for index in asked.indexes:
        if index.is_explicit:
            lines += ["[[tool.uv.index]]", f"name = {json.dumps(index.source)}", f"url = {json.dumps(index.url)}"]
            lines += ["explicit = true"]
    return "\n".join(lines) + "\n"


def _point_to(pin: Requirement, path: Path) -> str:
    extras = f"[{','.join(sorted(pin.extras))}]" if pin.extras else ""
    marker = f" ; {pin.marker}" if pin.marker else ""
    return f"{pin.name}{extras} @ {path.as_uri()}{marker}"


def write_stub(wheel: HeldWheel, folder_path: Path) -> Path:
    """A wheel with the metadata of another and nothing else: uv need not unpack gigabytes to read four kilobytes."""
    path = folder_path / wheel.file
    try:
        with zipfile.ZipFile(wheel.path) as whole, zipfile.ZipFile(path, "w") as stub:
            for name in whole.namelist():
                if re.fullmatch(r"[^/]+\.dist-info/(METADATA|WHEEL)", name):
                    stub.writestr(name, whole.read(name))
            stub.writestr(f"{'-'.join(wheel.file.split('-')[:2])}.dist-info/RECORD", "")
    except zipfile.BadZipFile as error:
        raise ResolveError(f"{wheel.file}, taken for {wheel.pin}, is no wheel: {error}") from error
    return path


def _compile(path: Path, asked: Asked, cache_path: Path, environ: Mapping[str, str], output: str) -> None:
    from uv import find_uv_bin

    formats = ["--format", "pylock.toml"] if output == "pylock.toml" else ["--emit-index-annotation", "--no-annotate"]
    command = [
        find_uv_bin(), "pip", "compile", "pyproject.toml", "--quiet", "--no-config", "--no-header", *formats,
        "--output-file", output, "--only-binary", ":all:", "--python", sys.executable, "--no-python-downloads",
        "--python-version", str(asked.platform.python), "--python-platform", asked.platform.uv_platform,
        "--cache-dir", str(cache_path / "uv"),
    ]  # fmt: skip
    command += _open_indexes(asked, path)
    kept = {name: value for name, value in environ.items() if not name.startswith("UV_") or name in KEPT_VARIABLES}
    finished = subprocess.run(
        command, cwd=path, env=kept, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )  # fmt: skip
    if finished.returncode:
        raise ResolveError(f"uv finds no wheels for what was asked for: {_explain(finished.stderr, asked.indexes)}")


def _open_indexes(asked: Asked, path: Path) -> list[str]:
    """Indexes that may give anything, in order; uv takes a package from the first that has it. With none: nothing."""
    urls = [(index.source, index.url) for index in asked.indexes if not index.is_explicit]
    if not urls:
        (path / "nothing").mkdir(exist_ok=True)
        urls = [("nothing", (path / "nothing").as_uri())]
    named = [f"--index={source}={url}" for source, url in urls[:-1]]
    return [*named, f"--default-index={urls[-1][1]}"]


def _explain(stderr: str, indexes: tuple[Index, ...]) -> str:
    text = " ".join(stderr.partition("\nhint:")[0].split())  # its hints are about its own options
    for index in indexes:
        text = text.replace(index.url, hide_password(index.url))
    return text.replace("your requirements are", "the row is").replace("you require", "the row requires")


def _find_places(path: Path, asked: Asked, cache_path: Path, environ: Mapping[str, str]) -> Mapping[str, str]:
    """Distribution → source. uv's pylock does not say; its annotations do, and cost a run on a warm cache."""
    if len(asked.indexes) == 1:
        return {"": asked.indexes[0].source}
    _compile(path, asked, cache_path, environ, "requirements.txt")
    sources = {index.url.rstrip("/"): index.source for index in asked.indexes}
    places, name = {}, ""
    for line in (path / "requirements.txt").read_text(encoding="utf-8").splitlines():
        if line.strip().startswith("# from "):
            places[name] = sources.get(line.strip().removeprefix("# from ").rstrip("/"), "")
        elif line and not line.startswith((" ", "#")):
            name = canonicalize_name(re.split(r"[ =@\[;]", line, maxsplit=1)[0])
    return places


def _read_package(package: Mapping[str, Any], places: Mapping[str, str]) -> Resolved:
    name = package["name"]
    source = places.get(name) or places.get("", "")
    if not source or not package.get("wheels"):
        raise ResolveError(f"uv chose {name} {package.get('version')} from a place that no source of the row names")
    return Resolved(name=name, version=package["version"], index=source, files=tuple(package["wheels"]))


def file_of(entry: Mapping[str, Any]) -> str:
    """File name of a wheel in a pylock.toml."""
    return str(entry.get("name") or unquote(urlsplit(url_of(entry)).path).rpartition("/")[2])


def url_of(entry: Mapping[str, Any]) -> str:
    """URL of a wheel in a pylock.toml."""
    return str(entry["url"]) if "url" in entry else Path(str(entry["path"])).absolute().as_uri()
