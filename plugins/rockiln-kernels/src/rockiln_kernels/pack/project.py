"""A pack's folder → a distribution's folder that any builder makes a wheel of: rockiln-kernels-ARCH."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from rockiln_kernels import __version__
from rockiln_kernels.pack.manifest import Manifest

LIMIT_BYTES = 20_000_000
"""What a pack's wheel may weigh."""

_PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "rockiln-kernels-{arch}"
version = "{version}"
description = "The kernels of rockiln-kernels {version}, compiled for {arch}"
requires-python = ">=3.11"
license = "Apache-2.0"
dependencies = ["rockiln-kernels=={version}"]

[tool.hatch.build.targets.wheel]
packages = ["src/{package}"]
"""


def name_package(arch: str) -> str:
    """The importable name of a pack's distribution; the pack is the folder pack/ in it."""
    return f"rockiln_kernels_{arch}"


def write_project(manifest: Manifest, pack_folder: Path, folder: Path) -> None:
    """Write the distribution's folder around a copy of the pack; `folder` is replaced as a whole."""
    package = name_package(manifest.arch)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as temporary:
        new = Path(temporary) / "new"
        source = new / "src" / package
        source.mkdir(parents=True)
        text = _PYPROJECT.format(arch=manifest.arch, version=__version__, package=package)
        (new / "pyproject.toml").write_text(text, encoding="utf-8")
        docstring = f'"""Kernels for {manifest.arch}: data for rockiln_kernels, nothing to call."""\n'
        (source / "__init__.py").write_text(docstring, encoding="utf-8")
        shutil.copytree(pack_folder, source / "pack")
        if folder.exists():
            folder.replace(Path(temporary) / "old")
        new.replace(folder)
