"""The newest CPU torch in the torch recipe, with rockiln-torch: built, loaded, smoked; red where a part is gone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from own_sources import copy_project
from packed_project import MaskingEngine, keep_checks, mask_module
from rockiln.compatibility import read_compatibility
from rockiln.console import Console
from rockiln.engines.docker import DockerEngine
from rockiln.engines.protocol import Command, Mount
from rockiln.image import Image
from rockiln.matrix import read_matrix
from rockiln.plan import PlannedTarget, make_plan
from rockiln.recipe import Recipe, read_recipes
from rockiln.smoke import Failed, Passed, SmokeReport, run_smoke
from rockiln.write_image import read_image
from rocm_mirror_folder import Project

CANARY = Path(__file__).parents[1] / "torch_canary"
TARGET = "torch-2.13.0-cpu-py3.11-debian-12"
SITE = "opt/venv/lib/python3.11/site-packages"
WHEEL = "torch-2.13.0+cpu-cp311-*.whl"


def find_torch_folder() -> Path | None:
    """A folder that this machine's pip is told of, with the wheel in it."""
    folders = [Path(folder) for folder in os.environ.get("PIP_FIND_LINKS", "").split()]
    return next((folder for folder in folders if list(folder.glob(WHEEL))), None)


pytestmark = [
    pytest.mark.network,
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("ROCKILN_NIGHTLY"), reason="minutes: ROCKILN_NIGHTLY=1 runs it"),
    pytest.mark.skipif(find_torch_folder() is None, reason="pip knows no folder with torch 2.13.0+cpu for cp311"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """The row, built and loaded."""

    planned: PlannedTarget
    image: Image
    engine: DockerEngine

    def smoke(self, recipe: Recipe, *masks: Mount) -> SmokeReport:
        """The recipe's checks, with other files over some of the image's."""
        engine = MaskingEngine(inner=self.engine, masks=masks)
        return run_smoke(self.image, recipe, engine, (), 2, Console(None))

    def find_failed(self, masks: Sequence[Mount], folder: Path, *names: str) -> dict[str, str]:
        """Of these checks alone, name → log of those that the masks make red."""
        recipe = keep_checks(self.planned.recipe, names, folder / "checks")
        return list_logs(self.smoke(recipe, *masks), Failed)

    def read(self, path: str) -> str:
        """A text file of the image."""
        command = Command(argv=("cat", path), timeout_s=60, use_entrypoint=False)
        return self.engine.run(self.engine.load(self.image), command).stdout


@pytest.fixture(scope="module")
def canary(module_path: Path) -> Iterator[Canary]:
    """Locked and built from real debs, real wheels and this checkout's plugin."""
    project = Project(path=copy_project(module_path / "project"), cache_path=module_path / "cache")
    (project.path / "images/torch-canary").mkdir()
    shutil.copy(CANARY / "image.toml", project.path / "images/torch-canary")
    shutil.copy(CANARY / "matrix.toml", project.path)
    for words in (("lock", TARGET), ("build", TARGET)):
        done = project.run("--mirror", f"local-torch={find_torch_folder()}", *words, timeout_s=3000)
        assert done.returncode == 0, done.stderr
    matrix = read_matrix(project.path / "matrix.toml")
    (planned,) = make_plan(matrix, read_recipes(project.path / "images"), read_compatibility()).targets
    engine = DockerEngine(environ=os.environ)
    image = read_image(project.path / "build" / TARGET / "image")
    loaded = engine.load(image)
    yield Canary(planned=planned, image=image, engine=engine)
    engine.unload(loaded)


def list_logs(report: SmokeReport, kind: type[Failed | Passed]) -> dict[str, str]:
    """Name → log of what ended so."""
    return {one.name: one.outcome.log for one in report.checks if isinstance(one.outcome, kind)}


def test_image_passes_and_its_checks_say_what_they_did(canary: Canary) -> None:
    report = canary.smoke(canary.planned.recipe)
    assert list_logs(report, Failed) == {}
    said = list_logs(report, Passed)
    assert "plugin: rockiln-torch" in said["own_packages"]
    assert "golden cases right on the CPU" in said["rockiln_ops"]
    assert "libraries compiled" in said["compile"]
    counts = "{'attention_prefill': 1, 'rms_norm': 2, 'rope': 2, 'silu_and_mul': 1}"
    assert f"{counts} in place of eager code" in said["block"]
    assert "gfx942: " in said["triton"]
    assert "gfx1100: " in said["triton"]


def test_without_the_entry_point_smoke_is_red(canary: Canary, tmp_path: Path) -> None:
    place = f"/{SITE}/rockiln_torch-0.1.0.dist-info/entry_points.txt"
    assert "torch.backends" in canary.read(place)
    (tmp_path / "entry_points.txt").write_text("")
    mask = Mount(host_path=tmp_path / "entry_points.txt", image_path=place)
    failed = canary.find_failed([mask], tmp_path, "own_packages", "rockiln_ops")
    assert "has no entry point in torch.backends" in failed["own_packages"]
    assert "import torch alone brings no ops: the entry point is gone" in failed["rockiln_ops"]


@pytest.mark.parametrize("package", ["rockiln_torch", "rockiln_kernels", "hipcompat"])
def test_without_a_package_smoke_is_red(canary: Canary, tmp_path: Path, package: str) -> None:
    (tmp_path / "empty").mkdir()
    mask = Mount(host_path=tmp_path / "empty", image_path=f"/{SITE}/{package}")
    assert package in canary.find_failed([mask], tmp_path, "own_packages")["own_packages"]


def test_without_an_op_smoke_is_red(canary: Canary, tmp_path: Path) -> None:
    place = f"/{SITE}/rockiln_torch/op_table.py"
    text = canary.read(place)
    assert '    "rope",\n' in text
    masks = mask_module(place, text.replace('    "rope",\n', ""), tmp_path)
    assert "rope" in canary.find_failed(masks, tmp_path, "rockiln_ops")["rockiln_ops"]


def test_without_a_pattern_smoke_is_red(canary: Canary, tmp_path: Path) -> None:
    place = f"/{SITE}/rockiln_torch/compile/patterns.py"
    text = canary.read(place)
    assert '    "rope": find_rope,\n' in text
    masks = mask_module(place, text.replace('    "rope": find_rope,\n', ""), tmp_path)
    assert "AssertionError" in canary.find_failed(masks, tmp_path, "block")["block"]
