"""A pack's folder → a distribution's folder that any builder makes a wheel of: rockiln-kernels-ARCH."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from pathlib import Path

from rockiln_kernels import __version__
from rockiln_kernels.pack.build import find_foreign as find_foreign_in_pack
from rockiln_kernels.pack.manifest import Manifest
from rockiln_kernels.pack.output import fill_folder

LIMIT_BYTES = 20_000_000
"""What a pack's wheel may weigh."""

_PROJECT_NAME = "pyproject.toml"
_NAME_START = 'name = "rockiln-kernels-'
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


class WheelTooLargeError(Exception):
    """The wheel of a pack would weigh more than LIMIT_BYTES."""


def write_project(manifest: Manifest, pack_folder: Path, folder: Path) -> None:
    """Write the distribution's folder around a copy of the pack; `folder` is replaced as a whole, or left alone.

    Raises OutputError where `folder` is neither absent, nor empty, nor such a project, and WheelTooLargeError.
    """
    package = name_package(manifest.arch)
    with fill_folder(folder, find_foreign) as new:
        source = new / "src" / package
        source.mkdir(parents=True)
        text = _PYPROJECT.format(arch=manifest.arch, version=__version__, package=package)
        (new / _PROJECT_NAME).write_text(text, encoding="utf-8")
        docstring = f'"""Kernels for {manifest.arch}: data for rockiln_kernels, nothing to call."""\n'
        (source / "__init__.py").write_text(docstring, encoding="utf-8")
        shutil.copytree(pack_folder, source / "pack")
        check_wheel(manifest.arch, measure_wheel(new / "src"))


def check_wheel(arch: str, size_bytes: int) -> None:
    """Raise WheelTooLargeError where a wheel of `size_bytes` is more than one may weigh."""
    if size_bytes > LIMIT_BYTES:
        raise WheelTooLargeError(
            f"the wheel of the pack for {arch} would weigh {size_bytes / 1e6:.1f} MB, "
            f"{LIMIT_BYTES / 1e6:.0f} MB is the most: build fewer variants (--only), or take some out of the tables"
        )


def measure_wheel(folder: Path) -> int:
    """Bytes of a wheel with the files in `folder`, deflated as a builder does; its metadata are some hundred more."""
    with tempfile.TemporaryFile() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as wheel:
            for path in sorted(folder.rglob("*")):
                wheel.write(path, path.relative_to(folder))
        return file.tell()


def find_foreign(folder: Path) -> str:
    """What makes `folder` no project of a pack, or one with more in it; "" if nothing does."""
    packages = [path for path in (folder / "src").glob(f"{name_package('')}*") if path.is_dir()]
    project = folder / _PROJECT_NAME
    if len(packages) != 1 or not project.is_file() or _NAME_START not in project.read_text("utf-8", "replace"):
        return "it is no project of a pack"
    if reason := find_foreign_in_pack(packages[0] / "pack"):
        return f"of {packages[0] / 'pack'}, {reason}"
    for parent, known in (
        (folder, {_PROJECT_NAME, "src"}),
        (folder / "src", {packages[0].name}),
        (packages[0], {"__init__.py", "__pycache__", "pack"}),
    ):
        if foreign := sorted(path.name for path in parent.iterdir() if path.name not in known):
            return f"{foreign[0]} in {parent} is no file of the project that it is"
    return ""
