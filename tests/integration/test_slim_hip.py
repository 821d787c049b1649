"""Slimmed libraries under Debian's real HIP runtime: they load, and its COMGR finds what was kept, and no other code.

The runtime comes from suites that move, and real libraries are gigabytes: nightly. There is no GPU.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fat_files import FatLibrary, bundle_for, compress_bundle
from hip_runtime import LIBRARIES, NO_DEVICE, ROOT_LIBRARIES, HipTree, unpack_hip
from loaded_tree import read_tree, wrapper_slots
from real_debs import ROOT
from rockiln.console import Console
from rockiln.fatbin.slim_file import slim_file
from rockiln.fatbin.slim_tree import SlimOptions, SlimReport, slim_in_place

pytestmark = [
    pytest.mark.network,
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("ROCKILN_NIGHTLY"), reason="2.2 GB of debs: ROCKILN_NIGHTLY=1 runs it"),
]

BITSANDBYTES = "bitsandbytes==0.50.2"
SITE = "site"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Large, so not in pytest's own, of which three are kept."""
    path = ROOT / "build" / "hip-runtime"
    shutil.rmtree(path / "trees", ignore_errors=True)
    yield path
    if not os.environ.get("ROCKILN_KEEP"):
        shutil.rmtree(path)


@pytest.fixture(scope="module")
def hip(folder: Path) -> HipTree:
    tree = unpack_hip(folder / "trees" / "before", folder / "cache", ROOT_LIBRARIES)
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(tree.path / SITE)]
    subprocess.run([*command, BITSANDBYTES], check=True)
    return tree


@pytest.fixture(scope="module")
def slimmed(hip: HipTree) -> tuple[HipTree, SlimReport]:
    """The same tree with code for one GPU; files that do not change are shared, for a cut replaces its file."""
    path = hip.path.with_name("after")
    subprocess.run(["cp", "--archive", "--link", str(hip.path), str(path)], check=True)
    options = SlimOptions(archs=frozenset({"gfx942"}), jobs=1)
    return HipTree(path=path), slim_in_place(path, options, Console(None))


def ask_about(tree: HipTree, path: Path) -> dict[str, Any]:
    return tree.ask([",".join((str(path), *wrapper_slots(path)))])


@pytest.mark.parametrize("packing", ["raw", "compressed"])
def test_library_compiled_here_loads_and_comgr_finds_what_was_kept(hip: HipTree, tmp_path: Path, packing: str) -> None:
    raw = bundle_for(["gfx90a:xnack+", "gfx942", "gfx1100", "gfx1030"])
    bundles = [raw, raw] if packing == "raw" else [compress_bundle(raw, 3), raw]
    fat = FatLibrary(bundles=bundles, linker="lld").build(tmp_path / "libfat.so")
    result = slim_file(fat, tmp_path / "slim.so", frozenset({"gfx942"}))
    assert result is not None
    assert result.outcome == "slimmed"
    before, after = ask_about(hip, fat), ask_about(hip, tmp_path / "slim.so")
    assert [one["libraries"][0]["loaded"] for one in (before, after)] == [1, 1]
    kept, whole = {"gfx942:sramecc+:xnack-"}, {"gfx90a:sramecc+:xnack+", "gfx1100", "gfx1030"}
    for answer, expected in ((before, kept | whole), (after, kept)):
        found = [one for one in answer["libraries"][0]["found"] if one]
        assert [{name for name in one if name != "status"} for one in found] == [expected] * bundles.count(raw)
        assert all(value == 1 for one in found for name, value in one.items() if name != "status")


LOADED = (
    "librccl.so.1", "libhipblaslt.so.1", "librocblas.so.5", "librocrand.so.1", "librocsolver.so.0", "librocsparse.so.1",
    "libhipsparselt.so.0", "libhipblas.so.3", "libMIOpen.so.1",
)  # fmt: skip


@pytest.mark.parametrize("name", LOADED)
def test_real_library_loads_as_before(hip: HipTree, slimmed: tuple[HipTree, SlimReport], name: str) -> None:
    require_same(hip, slimmed[0], LIBRARIES / name)


@pytest.mark.parametrize("version", ["70", "71", "72", "714", "715"])
def test_bitsandbytes_loads_as_before(hip: HipTree, slimmed: tuple[HipTree, SlimReport], version: str) -> None:
    require_same(hip, slimmed[0], Path(SITE, f"bitsandbytes/libbitsandbytes_rocm{version}.so"))


def require_same(before: HipTree, after: HipTree, path: Path) -> None:
    old, new = (ask_about(tree, tree.path / path) for tree in (before, after))
    assert (old["libraries"][0]["loaded"], old["libraries"][0]["error"]) == (1, "")
    assert (new["libraries"][0]["loaded"], new["libraries"][0]["error"]) == (1, "")
    assert old["init"] == new["init"] == NO_DEVICE
    assert old["version"] == new["version"] >= 70_000_000
    pairs = zip(old["libraries"][0]["found"], new["libraries"][0]["found"], strict=True)
    for one, other in pairs:
        assert (one is None) == (other is None)
        if one:
            assert {name for name in one if name.startswith("gfx942")} == {name for name in other if name != "status"}


def test_cut_reached_the_libraries(slimmed: tuple[HipTree, SlimReport]) -> None:
    outcomes = {one.path.name: one.outcome for one in slimmed[1].files}
    cut = {"librccl.so.1.0", "librocblas.so.5.2", "librocrand.so.1.1", "libbitsandbytes_rocm72.so"}
    assert {outcomes[name] for name in cut} == {"slimmed"}


def test_closure_symbols_and_versions_of_the_whole_tree_are_unchanged(
    hip: HipTree, slimmed: tuple[HipTree, SlimReport]
) -> None:
    trees = []
    for tree in (hip, slimmed[0]):
        loader = tree.path / LIBRARIES / "ld-linux-x86-64.so.2"
        trees.append(read_tree(tree.path, loader, f"{LIBRARIES}:{SITE}/bitsandbytes"))
    assert trees[0] == trees[1]
    assert len(trees[0]) > 50
    assert sum(name.split()[1] == "U" for one in trees[0].values() for name in one.symbols) > 10_000
