"""A CPU row with a gfx942 pack: whole it is green, and without an op, a pack, hipcompat or a command it is red."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from packed_project import PACKED, MaskingEngine, keep_checks, make_packed_project
from rockiln.compatibility import read_compatibility
from rockiln.console import Console
from rockiln.engines.embedded import EmbeddedEngine
from rockiln.engines.protocol import Mount
from rockiln.image import Image
from rockiln.lock import read_lock
from rockiln.matrix import read_matrix
from rockiln.plan import PlannedTarget, make_plan
from rockiln.recipe import Recipe, read_recipes
from rockiln.smoke import Failed, Passed, SmokeReport, run_smoke
from rockiln.write_image import read_image
from small_project import SmallProject

pytestmark = [pytest.mark.network, pytest.mark.userns, pytest.mark.slow]
SITE = "opt/venv/lib/python3.11/site-packages"
PACK = f"{SITE}/rockiln_kernels_gfx942/pack"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedImage:
    """The row, built, with the tree that the embedded engine has unpacked."""

    project: SmallProject
    planned: PlannedTarget
    image: Image
    engine: EmbeddedEngine

    @property
    def tree(self) -> Path:
        """What a container sees as /."""
        return Path(self.engine.load(self.image).handle) / "root"

    def smoke(self, recipe: Recipe, *masks: Mount) -> SmokeReport:
        """The recipe's checks, with other files over some of the image's."""
        engine = MaskingEngine(inner=self.engine, masks=masks)
        return run_smoke(self.image, recipe, engine, (), 2, Console(None))


@pytest.fixture(scope="module")
def packed(module_path: Path) -> PackedImage:
    """Locked and built from real debs and our own wheels."""
    project = make_packed_project(module_path)
    for words in (("lock",), ("build", PACKED)):
        done = project.run(*words)
        assert done.returncode == 0, done.stderr
    matrix = read_matrix(project.path / "matrix.toml")
    (planned,) = make_plan(matrix, read_recipes(project.path / "images"), read_compatibility()).targets
    image = read_image(project.path / "build" / PACKED / "image")
    engine = EmbeddedEngine(trees_path=project.cache_path / "trees")
    return PackedImage(project=project, planned=planned, image=image, engine=engine)


def failed_checks(report: SmokeReport) -> dict[str, str]:
    """Name → log of what failed."""
    return {one.name: one.outcome.log for one in report.checks if isinstance(one.outcome, Failed)}


def test_own_wheels_are_locked_with_the_hash_of_their_sources(packed: PackedImage) -> None:
    locked = read_lock(packed.project.path / "matrix.lock").targets[PACKED]
    own = {item.name: item.source_tree for item in locked.artifacts if item.source == "own"}
    assert own.keys() >= {"hipcompat", "rockiln-kernels", "rockiln-kernels-gfx942"}
    assert all(own.values())
    assert len(set(own.values())) == len(own)


def test_whole_image_passes_and_says_what_it_holds(packed: PackedImage) -> None:
    report = packed.smoke(packed.planned.recipe)
    assert failed_checks(report) == {}
    said = {one.name: one.outcome.log for one in report.checks if isinstance(one.outcome, Passed)}
    manifest = json.loads((packed.tree / PACK / "manifest.json").read_text())
    ops = {variant["op"] for variant in manifest["variants"]}
    assert f"pack of gfx942: {len(manifest['kernels'])} kernels of {len(ops)} ops: " in said["own_packages"]
    assert all(op in said["own_packages"] for op in ops)
    assert f"gfx942: {len(ops)} ops, " in said["own_kernels"]
    assert "hipcompat 0.1.0, rockiln-kernels 0.1.0, rockiln-kernels-gfx942 0.1.0" in said["own_packages"]


def without_op(packed: PackedImage, folder: Path) -> Mount:
    """A manifest without rope."""
    manifest: dict[str, Any] = json.loads((packed.tree / PACK / "manifest.json").read_text())
    gone = {launch["kernel"] for one in manifest["variants"] if one["op"] == "rope" for launch in one["launches"]}
    manifest["variants"] = [one for one in manifest["variants"] if one["op"] != "rope"]
    manifest["kernels"] = {key: value for key, value in manifest["kernels"].items() if key not in gone}
    path = folder / "manifest.json"
    path.write_text(json.dumps(manifest))
    return Mount(host_path=path, image_path=f"/{PACK}/manifest.json")


def without_code(packed: PackedImage, folder: Path) -> Mount:
    """Another file where a kernel's code was."""
    manifest = json.loads((packed.tree / PACK / "manifest.json").read_text())
    file = min(kernel["file"] for kernel in manifest["kernels"].values())
    (folder / file).write_bytes(b"\x7fELF")
    return Mount(host_path=folder / file, image_path=f"/{PACK}/{file}")


def without(path: str) -> Callable[[PackedImage, Path], Mount]:
    """An empty folder over one of the image's."""

    def mask(_packed: PackedImage, folder: Path) -> Mount:
        return Mount(host_path=folder, image_path=f"/{SITE}/{path}")

    return mask


def without_command(packed: PackedImage, folder: Path) -> Mount:
    """hipcompat without its entry point."""
    (place,) = (packed.tree / SITE).glob("hipcompat-*.dist-info/entry_points.txt")
    (folder / "entry_points.txt").write_text("")
    return Mount(host_path=folder / "entry_points.txt", image_path=f"/{place.relative_to(packed.tree)}")


@pytest.mark.parametrize(
    ("mask", "check", "words"),
    [
        (without_op, "own_kernels", "the pack of gfx942 lacks [('rope', "),
        (without_code, "own_packages", "is damaged"),
        (without("rockiln_kernels_gfx942"), "own_packages", "rockiln_kernels_gfx942"),
        (without("rockiln_kernels"), "own_kernels", "rockiln_kernels"),
        (without("hipcompat"), "own_packages", "hipcompat"),
        (without_command, "own_packages", "hipcompat has lost its command"),
    ],
    ids=["op", "code", "pack", "kernels", "hipcompat", "entry-point"],
)
def test_what_is_missing_turns_smoke_red(
    packed: PackedImage, tmp_path: Path, mask: Callable[[PackedImage, Path], Mount], check: str, words: str
) -> None:
    (tmp_path / "mask").mkdir()
    recipe = keep_checks(packed.planned.recipe, [check], tmp_path / "checks")
    failed = failed_checks(packed.smoke(recipe, mask(packed, tmp_path / "mask")))
    assert words in failed[check]


def test_changed_sources_stop_the_build_with_the_command(packed: PackedImage) -> None:
    path = packed.project.path / "compat/src/hipcompat/__init__.py"
    text = path.read_text()
    path.write_text(f"{text}\nADDED = True\n")
    try:
        done = packed.project.run("build", PACKED)
        assert done.returncode == 5
        assert "is stale: the sources of hipcompat changed after it was locked" in done.stderr
        assert f"run: rockiln lock {PACKED}" in done.stderr
    finally:
        path.write_text(text)
