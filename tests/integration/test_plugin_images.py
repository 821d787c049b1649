"""The CPU rows with rockiln-jax and rockiln-tensorflow, as the checkout has them: smoke is red where a part is gone."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from own_sources import copy_project, copy_small_project, have_own_wheels
from packed_project import PACK, MaskingEngine, keep_checks, mask_module
from rockiln.compatibility import read_compatibility
from rockiln.console import Console
from rockiln.engines.embedded import EmbeddedEngine
from rockiln.engines.protocol import Mount
from rockiln.image import Image
from rockiln.matrix import read_matrix
from rockiln.plan import PlannedTarget, make_plan
from rockiln.recipe import Recipe, read_recipes
from rockiln.smoke import Failed, run_smoke
from rockiln.write_image import read_image
from rocm_mirror_folder import Project

pytestmark = [pytest.mark.network, pytest.mark.userns, pytest.mark.slow]
JAX = "jax-0.6.2-cpu-py3.11-debian-12"
TENSORFLOW = "tensorflow-2.19.1-cpu-py3.11-debian-12"
SITE = "opt/venv/lib/python3.11/site-packages"
LIBRARY = "librockiln_tensorflow_2_19.so"
RECORD = "/etc/rockiln/version.json"
CACHE = Path(os.environ.get("ROCKILN_CACHE") or Path.home() / ".cache" / "rockiln")
"""The user's, in which README's first command and CI's build of the rows have left their wheels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginImage:
    """The row, built, and its tree."""

    planned: PlannedTarget
    image: Image
    engine: EmbeddedEngine

    @property
    def package(self) -> str:
        """The plugin's: rockiln_jax."""
        return f"rockiln_{self.planned.target.framework}"

    def smoke(self, recipe: Recipe, *masks: Mount) -> dict[str, str]:
        """Name → log of the recipe's checks that failed, with other files over some of the image's."""
        engine = MaskingEngine(inner=self.engine, masks=masks)
        report = run_smoke(self.image, recipe, engine, (), 2, Console(None))
        return {one.name: one.outcome.log for one in report.checks if isinstance(one.outcome, Failed)}


@pytest.fixture(scope="module", params=[JAX, TENSORFLOW])
def built(request: pytest.FixtureRequest, module_path: Path) -> PluginImage:
    """Locked anew in a copy of this checkout, and built."""
    target, folder = request.param, module_path / request.param
    project = Project(path=copy_project(folder / "project"), cache_path=CACHE)
    for words in (("lock", target), ("build", "--relock-gone", target)):
        done = project.run(*words, timeout_s=3000)
        assert done.returncode == 0, done.stderr
    plan = make_plan(
        read_matrix(project.path / "matrix.toml"), read_recipes(project.path / "images"), read_compatibility()
    )
    planned = next(row for row in plan.targets if row.id == target)
    engine = EmbeddedEngine(trees_path=folder / "trees")
    return PluginImage(planned=planned, image=read_image(project.path / "build" / target / "image"), engine=engine)


@pytest.mark.parametrize("part", ["plugin", "hipcompat", "ops"])
def test_without_a_part_smoke_is_red(built: PluginImage, tmp_path: Path, part: str) -> None:
    path, check = {
        "plugin": (built.package, "own_packages"),
        "hipcompat": ("hipcompat", "own_packages"),
        "ops": ("rockiln_kernels/specs", "rockiln_ops"),
    }[part]
    (tmp_path / "empty").mkdir()
    recipe = keep_checks(built.planned.recipe, [check], tmp_path / "checks")
    assert check in built.smoke(recipe, Mount(host_path=tmp_path / "empty", image_path=f"/{SITE}/{path}"))


def add_pack(built: PluginImage, folder: Path) -> list[Mount]:
    """A pack of two families in the image, named in its record: a CPU row has none of its own."""
    project, site = copy_small_project(folder / "project"), folder / "site"
    have_own_wheels(project, folder / "cache", [PACK])
    (wheel,) = (folder / "cache").rglob(f"{PACK.replace('-', '_')}-*.whl")
    zipfile.ZipFile(wheel).extractall(site)
    record = json.loads((Path(built.engine.load(built.image).handle) / f"root{RECORD}").read_text())
    record["packages"].append({"kind": "wheel", "name": PACK, "version": wheel.name.split("-")[1]})
    (folder / "record.json").write_text(json.dumps(record))
    there = [Mount(host_path=path, image_path=f"/{SITE}/{path.name}") for path in sorted(site.iterdir())]
    return [*there, Mount(host_path=folder / "record.json", image_path=RECORD)]


def test_without_a_pack_of_the_record_smoke_is_red(built: PluginImage, tmp_path: Path) -> None:
    masks = add_pack(built, tmp_path)
    recipe = keep_checks(built.planned.recipe, ["own_packages"], tmp_path / "checks")
    assert built.smoke(recipe, *masks) == {}
    (tmp_path / "empty").mkdir()
    gone = Mount(host_path=tmp_path / "empty", image_path=f"/{SITE}/{PACK.replace('-', '_')}")
    assert f"{PACK}: rockiln_kernels_gfx942/" in built.smoke(recipe, *masks, gone)["own_packages"]


def test_without_an_op_smoke_is_red(built: PluginImage, tmp_path: Path) -> None:
    masks = mask_module(f"/{SITE}/rockiln_kernels/specs/rope.py", "SPECS = ()\n", tmp_path)
    failed = built.smoke(keep_checks(built.planned.recipe, ["rockiln_ops"], tmp_path / "checks"), *masks)
    assert "the op table and the golden files differ by ['rope', 'rope_backward']" in failed["rockiln_ops"]


@pytest.mark.parametrize("built", [JAX], indirect=True)
def test_without_jaxs_entry_point_smoke_is_red(built: PluginImage, tmp_path: Path) -> None:
    (tmp_path / "entry_points.txt").write_text("")
    place = f"/{SITE}/rockiln_jax-0.1.0.dist-info/entry_points.txt"
    others = ("entry_points", "own_kernels", "packages", "plugin_discovery", "versions")
    recipe = keep_checks(built.planned.recipe, ["own_packages", *others], tmp_path / "checks")
    failed = built.smoke(recipe, Mount(host_path=tmp_path / "entry_points.txt", image_path=place))
    assert list(failed) == ["own_packages"], "no other check asks for it"
    assert "rockiln-jax has no entry point in jax_plugins" in failed["own_packages"]


@pytest.mark.parametrize("built", [TENSORFLOW], indirect=True)
def test_the_whole_tensorflow_row_is_green_and_says_its_ops(built: PluginImage, tmp_path: Path) -> None:
    recipe = keep_checks(built.planned.recipe, ["own_packages", "rockiln_ops", "saved_model"], tmp_path / "checks")
    assert built.smoke(recipe) == {}


@pytest.mark.parametrize("built", [TENSORFLOW], indirect=True)
def test_with_a_damaged_tensorflow_library_smoke_is_red_and_names_it(built: PluginImage, tmp_path: Path) -> None:
    """TensorFlow has no entry point for plugins: importing the package is what registers its ops."""
    (tmp_path / LIBRARY).write_bytes(b"")
    place = f"/{SITE}/rockiln_tensorflow/{LIBRARY}"
    recipe = keep_checks(built.planned.recipe, ["own_packages", "rockiln_ops"], tmp_path / "checks")
    failed = built.smoke(recipe, Mount(host_path=tmp_path / LIBRARY, image_path=place))
    assert sorted(failed) == ["own_packages", "rockiln_ops"]
    assert f"{LIBRARY} cannot be loaded into TensorFlow 2.19.1" in failed["rockiln_ops"]
