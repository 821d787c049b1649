"""inputs.toml and a folder of packages → the text of their members, each package checked against its sha256."""

from __future__ import annotations

import fnmatch
import hashlib
import io
import subprocess
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hipcompat.errors import FactsError

INPUTS_PATH = Path(__file__).with_name("inputs.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One package: a deb or a wheel. `members` and `without` are globs over the paths inside it."""

    role: str
    package: str
    version: str
    file: str
    sha256: str
    members: tuple[str, ...]
    without: tuple[str, ...] = ()


def read_inputs(path: Path = INPUTS_PATH) -> tuple[Input, ...]:
    """The list of packages, as it stands in the file."""
    rows: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["input"]
    return tuple(
        Input(**row | {"members": tuple(row["members"]), "without": tuple(row.get("without", ()))}) for row in rows
    )


def read_members(item: Input, folder_path: Path) -> Iterator[tuple[str, str]]:
    """Path and text of each member that the globs name, sorted.

    Raises FactsError where the package is missing or is another one.
    """
    path = folder_path / item.file
    if not path.is_file():
        raise FactsError(f"{item.file} is not in {folder_path}", hint="docs/compat-facts.md says how to fetch it")
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != item.sha256:
        raise FactsError(f"{item.file} has sha256 {found}, not {item.sha256}", hint="fetch the version in inputs.toml")
    members = _read_wheel(content) if item.file.endswith(".whl") else _read_deb(path)
    for name, raw in sorted(members):
        if _matches(name, item.members) and not _matches(name, item.without):
            yield name, raw.decode("utf-8", "replace")


def _matches(name: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs)


def _read_wheel(content: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for entry in archive.infolist():
            if entry.file_size < 8_000_000 and not entry.is_dir():
                yield entry.filename, archive.read(entry)


def _read_deb(path: Path) -> Iterator[tuple[str, bytes]]:
    tar = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(path)], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        for entry in archive:
            stream = archive.extractfile(entry) if entry.isfile() else None
            if stream is not None:
                yield entry.name.removeprefix("./"), stream.read()
