"""This machine → the folder of a built ROCm-shaped mirror, and projects that are pointed at it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from own_sources import copy_small_project, have_own_wheels

ROOT_PATH = Path(__file__).parents[1]
MIRROR_PATH = ROOT_PATH / "build" / "rocm-mirror"
LACKS_SOMETHING = 3
"""Exit code of tests/rocm_mirror/build.py when this machine lacks a tool that it needs."""

OWN_OF_AMD_ROWS = (
    "hipcompat", "rockiln-kernels-gfx942", "rockiln-kernels-gfx950", "rockiln-kernels-gfx1100",
    "rockiln-kernels-gfx1201",
)  # fmt: skip
"""What their recipes and archs come to, without the frameworks' plugins: the mirror's frameworks are stubs."""
SOURCES = {
    "rocm-debs": "rocm/apt/7.0.2",
    "rocm-wheels": "rocm/manylinux/rocm-rel-7.0.2/",
    "rocm-wheels-7-0": "rocm/manylinux/rocm-rel-7.0/",
    "ubuntu-24-04": "ubuntu",
    "wheels": "simple/",
}
"""Source of matrix.toml → folder of the mirror."""


@cache
def build_mirror() -> Path:
    """The mirror's folder, built when it is not there yet; where it cannot be: skips, or fails if CI requires it."""
    command = [sys.executable, str(ROOT_PATH / "tests/rocm_mirror/build.py"), str(MIRROR_PATH)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode == LACKS_SOMETHING:
        if "rocm-mirror" in os.environ.get("ROCKILN_REQUIRE", "").split(","):
            pytest.fail(f"rocm-mirror is required here, but {built.stderr}")
        pytest.skip(built.stderr)
    assert built.returncode == 0, built.stdout + built.stderr
    return MIRROR_PATH


def mirror_variables(base_url: str, replaced: Mapping[str, str] | None = None) -> dict[str, str]:
    """ROCKILN_MIRROR_… for every source of the AMD rows. `replaced` names other folders; "" leaves a source alone."""
    folders = {**SOURCES, **(replaced or {})}
    return {
        f"ROCKILN_MIRROR_{source.upper().replace('-', '_')}": f"{base_url}/{folder}"
        for source, folder in folders.items()
        if folder
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project folder with the real matrix and recipes, a cache, and the environment of its commands."""

    path: Path
    cache_path: Path
    environ: Mapping[str, str] = field(default_factory=dict)

    def run(self, *words: str, timeout_s: float = 600) -> subprocess.CompletedProcess[str]:
        """`rockiln WORDS` in the project."""
        folders = ("--project", str(self.path), "--cache", str(self.cache_path))
        command = [sys.executable, "-m", "rockiln", *folders, *words]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ROCKILN_")}
        environ = {**kept, **self.environ}
        return subprocess.run(
            command, capture_output=True, text=True, env=environ, cwd=self.path, timeout=timeout_s, check=False
        )


def make_project(path: Path, cache_path: Path, environ: Mapping[str, str]) -> Project:
    """The real matrix.toml, images/ and plugins, and the mirror's keys where a source's keyring is looked for."""
    copy_small_project(path)
    have_own_wheels(path, cache_path, OWN_OF_AMD_ROWS)  # the mirror has no build backend and no Triton to build with
    for keyring_path in sorted((build_mirror() / "keyrings").iterdir()):
        shutil.copy(keyring_path, path)
    return Project(path=path, cache_path=cache_path, environ=environ)
