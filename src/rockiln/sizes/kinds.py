"""A path of an image → its kind: what somebody would call the file who looks for bytes to save."""

from __future__ import annotations

import re
from typing import Literal, get_args

from rockiln.archs import LLVM_TARGETS

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
_KERNEL_FOLDERS = re.compile(r"/(rocblas/library|hipblaslt/library|hipsparselt/library|miopen/db|aotriton\.images)/")
_DOCS = re.compile(r"^usr/share/(doc|doc-base|info|man|locale|i18n)/")
_METADATA = re.compile(r"^var/lib/(dpkg|apt)/|\.(dist|egg)-info/|^etc/rockiln/")
_PROGRAM_FOLDERS = re.compile(r"(^|/)s?bin/[^/]+$|/libexec/")
_ARCH = re.compile("|".join(sorted(LLVM_TARGETS, key=lambda arch: (-len(arch), arch))))


def find_kind(path: str) -> Kind:
    """By the name alone, so that it costs nothing; the first rule that fits counts."""
    if _SHARED.search(path):
        return "library"
    if _METADATA.search(path):
        return "metadata"
    if _DOCS.match(path):
        return "docs"
    if _KERNEL_FOLDERS.search(path):
        return "kernel data"
    name = path.rpartition("/")[2]
    known = _SUFFIXES.get(name.rpartition(".")[2].lower()) if "." in name else None
    return known or ("program" if _PROGRAM_FOLDERS.search(path) else "data")


def find_named_arch(path: str) -> str:
    """The arch that a file of kernel data is for, by its name or else by its nearest folder's; "" for none.

    MIOpen writes the number of compute units behind the arch (gfx90a68.kdb), Tensile features (gfx90a-xnack+): the
    longest arch that LLVM knows counts.
    """
    for part in reversed(path.split("/")):
        if found := _ARCH.findall(part):
            return str(found[-1])
    return ""
