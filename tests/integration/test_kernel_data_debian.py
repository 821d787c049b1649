"""Debian's rocBLAS, hipBLASLt and hipSPARSELt of ROCm 7.2.4: whole trees of kernel data, slimmed and looked into."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from real_debs import ROCM_7, fetch_debs, unpack_deb
from rockiln.console import Console
from rockiln.fatbin.slim_tree import SlimOptions, SlimReport, slim_copy, slim_in_place

pytestmark = [pytest.mark.network, pytest.mark.slow]
if not os.environ.get("ROCKILN_NIGHTLY"):
    pytest.skip("downloads 620 MB from suites that move; set ROCKILN_NIGHTLY=1", allow_module_level=True)

PACKAGES = ("librocblas5", "libhipblaslt1", "libhipsparselt0")
LIBRARIES = "usr/lib/x86_64-linux-gnu"
MOST_BYTES = {
    ("librocblas5", "gfx942"): 140e6, ("libhipblaslt1", "gfx942"): 8e6, ("libhipsparselt0", "gfx942"): 155e6,
    ("librocblas5", "gfx1100"): 100e6, ("libhipblaslt1", "gfx1100"): 30e6, ("libhipsparselt0", "gfx1100"): 10e6,
}  # fmt: skip
"""Package, arch → bytes that are left at most. hipBLASLt holds nothing for gfx942, hipSPARSELt nothing for gfx1100."""
_NAME = re.compile(rb"TensileLibrary_[A-Za-z0-9_]+")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All packages in one folder, as they would be installed."""
    folder = tmp_path_factory.mktemp("debian")
    for deb in fetch_debs(PACKAGES, ROCM_7, folder / "cache", is_alone=True).values():
        unpack_deb(deb, folder / "root")
    return folder / "root"


@pytest.fixture(scope="module", params=["gfx942", "gfx1100"])
def slimmed(request: pytest.FixtureRequest, packages: Path) -> tuple[str, Path, SlimReport]:
    arch: str = request.param
    output = packages.parent / arch
    report = slim_copy(packages, output, SlimOptions(archs=frozenset({arch}), jobs=2), Console(None))
    return arch, output, report


def test_sizes_are_as_promised(slimmed: tuple[str, Path, SlimReport]) -> None:
    arch, output, _ = slimmed
    folders = {"librocblas5": "rocblas", "libhipblaslt1": "hipblaslt", "libhipsparselt0": "hipsparselt"}
    for package, name in folders.items():
        paths = [*(output / LIBRARIES / name).rglob("*"), *(output / LIBRARIES).glob(f"lib{name}.so.*")]
        left = sum(path.lstat().st_size for path in paths if path.is_file() and not path.is_symlink())
        assert left <= MOST_BYTES[package, arch], package


def test_every_name_is_understood(slimmed: tuple[str, Path, SlimReport]) -> None:
    _, _, report = slimmed
    doubts = [one for one in report.files if one.outcome == "refused" and one.rule != "fat-binary"]
    assert doubts == []


def test_what_indexes_of_the_arch_name_is_all_there(slimmed: tuple[str, Path, SlimReport], packages: Path) -> None:
    arch, output, _ = slimmed
    found = 0
    for index in (packages / LIBRARIES).rglob(f"TensileLibrary_lazy_{arch}.dat"):
        left = output / index.relative_to(packages)
        assert left.read_bytes() == index.read_bytes()
        for name in set(_NAME.findall(index.read_bytes())):
            before, after = (find_parts(path.parent, name.decode(), arch) for path in (index, left))
            assert before == after
            found += len(before)
    assert found > 100


def find_parts(folder: Path, name: str, arch: str) -> Mapping[str, int]:
    """The files that a library opens for a name in its index: with the arch behind it, or without any."""
    wanted = re.compile(rf"{re.escape(name)}(?:_{arch}(?:-xnack[+-])?)?\.(?:dat|co|hsaco)")
    return {path.name: path.stat().st_size for path in folder.glob(f"{name}*") if wanted.fullmatch(path.name)}


def test_second_run_changes_nothing(slimmed: tuple[str, Path, SlimReport]) -> None:
    arch, output, _ = slimmed
    again = slim_in_place(output, SlimOptions(archs=frozenset({arch}), jobs=2), Console(None))
    assert {one.outcome for one in again.files} <= {"unchanged", "refused"}
