"""The machine → Toolchain: the pinned Triton and lld that build packs; their versions are part of the bytes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib import metadata

TRITON = "3.4.0"
LLD_MAJOR = "22"
"""Debian's lld-22. Any 22.x links the same code; the exact version stands in the manifest and in .comment."""


class ToolchainError(Exception):
    """A tool is missing or is another version; `hint` says what to install."""

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """What compiles and links; the versions are part of every cache key and manifest."""

    triton: str
    lld: str
    lld_path: str


def find_toolchain() -> Toolchain:
    """The pinned Triton and lld. Raises ToolchainError where one is missing or another version."""
    try:
        triton = metadata.version("triton")
    except metadata.PackageNotFoundError:
        triton = "none"
    if triton != TRITON:
        hint = "install rockiln-kernels[build] into an environment of its own"
        raise ToolchainError(f"packs are built by triton {TRITON}, found {triton}", hint=hint)
    path = os.environ.get("TRITON_HIP_LLD_PATH") or shutil.which(f"ld.lld-{LLD_MAJOR}") or ""
    if not path:
        raise ToolchainError(f"no ld.lld-{LLD_MAJOR} on PATH", hint=f"install Debian's lld-{LLD_MAJOR}")
    text = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"LLD (\S+)", text)
    if version is None or version[1].split(".")[0] != LLD_MAJOR:
        hint = f"install Debian's lld-{LLD_MAJOR}, or set TRITON_HIP_LLD_PATH to one"
        raise ToolchainError(f"{path} is not lld {LLD_MAJOR}: {text.strip()}", hint=hint)
    return Toolchain(triton=triton, lld=version[1], lld_path=path)
