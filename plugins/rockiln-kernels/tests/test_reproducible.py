"""Two builds from two copies of the sources, in two folders with two caches, are the same bytes.

A tenth of the variants of one arch in CI, rotated by commit; every variant of every arch with ROCKILN_NIGHTLY=1.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rockiln_kernels
from harness.figures import keep_figure
from harness.rotation import NIGHTLY, read_rotation
from rockiln_kernels.archs import AMD_ARCHS

STEP = 1 if NIGHTLY else 10
TESTS = Path(__file__).parent
ARCHS = [arch.name for arch in AMD_ARCHS]
PICKED = ARCHS if NIGHTLY else [ARCHS[read_rotation() % len(ARCHS)]]


def _build(arch: str, folder: Path) -> Path:
    """A copy of the sources at `folder`, compiled there."""
    shutil.copytree(Path(rockiln_kernels.__file__).parent, folder / "source" / "rockiln_kernels")
    (folder / "tmp").mkdir()
    paths = os.pathsep.join([str(folder / "source"), str(TESTS)])
    places = {"PYTHONPATH": paths, "TMPDIR": str(folder / "tmp"), "ROCKILN_KERNELS_CACHE": str(folder / "cache")}
    place = str(read_rotation() % STEP)
    command = [sys.executable, "-P", "-m", "harness.rebuild", arch, str(STEP), place, str(folder / "pack")]
    subprocess.run(command, cwd=folder, env={**os.environ, **places}, check=True)
    return folder / "pack"


@pytest.mark.parametrize("arch", PICKED)
def test_two_builds_are_the_same_bytes(arch: str, tmp_path: Path) -> None:
    short, long = tmp_path / "a", tmp_path / "another" / "folder, deeper"
    short.mkdir()
    long.mkdir(parents=True)
    first, second = _build(arch, short), _build(arch, long)
    names = sorted(path.name for path in first.iterdir())
    assert len(names) > 5
    assert names == sorted(path.name for path in second.iterdir())
    _, different, unread = filecmp.cmpfiles(first, second, names, shallow=False)
    assert not different
    assert not unread
    kernels = sum(name.endswith(".hsaco") for name in names)
    keep_figure("reproducible", arch, {"kernels": kernels, "of": "all" if STEP == 1 else f"every {STEP}th"})
