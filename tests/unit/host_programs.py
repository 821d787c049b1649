"""Programs of this machine, with what they need, as items of a small tree: something real for the sandbox to run."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest


def take_program(name: str) -> dict[str, str | bytes]:
    """The program below usr/bin or usr/sbin, its libraries and its loader, in merged-/usr paths."""
    found = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if found is None:
        pytest.skip(f"no {name} on this machine")
    listed = subprocess.run(["ldd", found], check=False, capture_output=True, text=True).stdout
    libraries = re.findall(r"(/\S+) \(0x", listed)
    items: dict[str, str | bytes] = {
        place_of(path): Path(path).resolve().read_bytes() for path in (*libraries, found)
    }
    tops = {path.split("/")[1] for path in (*libraries, found)} - {"usr"}
    return items | {top: f"-> usr/{top}" for top in tops}


def place_of(path: str) -> str:
    """/lib/x.so → usr/lib/x.so"""
    place = path.strip("/")
    return place if place.startswith("usr/") else f"usr/{place}"


def take_python() -> tuple[str, dict[str, str | bytes]]:
    """The distribution's Python with its standard library, and its version ("3.11")."""
    program = Path("/usr/bin/python3")
    if not program.exists():
        pytest.skip("no /usr/bin/python3 on this machine")
    version = program.resolve().name.removeprefix("python")
    library = Path(f"/usr/lib/python{version}")
    items = take_program(f"python{version}")
    folders = {"", "collections", "encodings", "importlib"}
    for path in library.glob("**/*.py"):
        if path.is_file() and path.parent.relative_to(library).as_posix().strip(".") in folders:
            items[place_of(str(path))] = path.read_bytes()
    return version, items
