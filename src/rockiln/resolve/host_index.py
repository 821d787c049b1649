"""The host's uv and pip configuration → URL of the wheel index that its own installs use."""

from __future__ import annotations

import configparser
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")


def find_index(environ: Mapping[str, str]) -> str:
    """Variables, uv's files, pip's files, else the index that Python packaging tools take by default.

    Extra indexes are left out on purpose: a package that two places offer is taken from whichever has more to show.
    """
    chosen = next(_chosen_indexes(environ), "")
    if chosen:
        return chosen
    from pypi_simple import PYPI_SIMPLE_ENDPOINT

    return PYPI_SIMPLE_ENDPOINT


def _chosen_indexes(environ: Mapping[str, str]) -> Iterator[str]:
    yield from filter(None, (environ.get(name, "").strip() for name in _VARIABLES))
    for path in _uv_paths(environ):
        yield from _read_uv(path)
    for path in _pip_paths(environ):
        yield from _read_pip(path)


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or "/nonexistent")


def _user_folder(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("XDG_CONFIG_HOME") or _home(environ) / ".config")


def _system_folders(environ: Mapping[str, str]) -> tuple[Path, ...]:
    folders = (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    return tuple(Path(folder) for folder in folders if folder)


def _uv_paths(environ: Mapping[str, str]) -> tuple[Path, ...]:
    if environ.get("UV_CONFIG_FILE"):
        return (Path(environ["UV_CONFIG_FILE"]),)
    folders = (_user_folder(environ), *_system_folders(environ))
    return (*(folder / "uv" / "uv.toml" for folder in folders), Path("/etc/uv/uv.toml"))


def _read_uv(path: Path) -> Iterator[str]:
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return
    pip = settings.get("pip")
    for table in (settings, pip if isinstance(pip, dict) else {}):
        indexes = table.get("index")
        for index in indexes if isinstance(indexes, list) else []:
            if isinstance(index, dict) and index.get("default") is True:
                yield str(index.get("url", ""))
        if isinstance(table.get("index-url"), str):
            yield cast("str", table["index-url"])


def _pip_paths(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """pip's own order, most important first: the file that PIP_CONFIG_FILE names, user, system."""
    home = _home(environ)
    named = (Path(environ["PIP_CONFIG_FILE"]),) if environ.get("PIP_CONFIG_FILE") else ()
    user = (_user_folder(environ) / "pip" / "pip.conf", home / ".pip" / "pip.conf")
    system = (*(folder / "pip" / "pip.conf" for folder in _system_folders(environ)), Path("/etc/pip.conf"))
    return (*named, *user, *system)


def _read_pip(path: Path) -> Iterator[str]:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, configparser.Error):
        return
    for section in ("install", "global"):
        url = parser.get(section, "index-url", fallback="").strip()
        if url:
            yield url
