"""A path of an image → its kind: what somebody would call the file who looks for bytes to save."""

from __future__ import annotations

import re
from typing import Literal, get_args

from rockiln.kernel_data.grammars import name_file

Kind = Literal[
    "library", "kernel data", "program", "python", "byte code", "header", "static library", "docs", "metadata", "data"
]
KINDS: tuple[Kind, ...] = get_args(Kind)

_SHARED = re.compile(r"\.so(\.[0-9][^/]*)?$")
_SUFFIXES: dict[str, Kind] = {
    "py": "python", "pyi": "python", "pyx": "python", "pxd": "python", "pyc": "byte code",
    "h": "header", "hh": "header", "hpp": "header", "hxx": "header", "cuh": "header", "inc": "header",
    "a": "static library", "lib": "static library",
    "hsaco": "kernel data", "co": "kernel data", "kdb": "kernel data", "ukdb": "kernel data", "bc": "kernel data",
}  # fmt: skip
_DOCS = re.compile(r"^usr/share/(doc|doc-base|info|man|locale|i18n)/")
_METADATA = re.compile(r"^var/lib/(dpkg|apt)/|\.(dist|egg)-info/|^etc/rockiln/")
_PROGRAM_FOLDERS = re.compile(r"(^|/)s?bin/[^/]+$|/libexec/")


def find_kind(path: str) -> Kind:
    """By the name alone, so that it costs nothing; the first rule that fits counts."""
    if _SHARED.search(path):
        return "library"
    if _METADATA.search(path):
        return "metadata"
    if _DOCS.match(path):
        return "docs"
    if name_file(f"/{path}"):
        return "kernel data"
    name = path.rpartition("/")[2]
    known = _SUFFIXES.get(name.rpartition(".")[2].lower()) if "." in name else None
    return known or ("program" if _PROGRAM_FOLDERS.search(path) else "data")


def find_named_arch(path: str) -> str:
    """The target that a file of kernel data is for, by its name and place; "" where they tell none, or several."""
    named = name_file(f"/{path}")
    targets = named.targets if named else frozenset()
    return next(iter(targets)) if len(targets) == 1 else ""
