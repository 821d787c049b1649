"""The note of what was built last: believed only with the image that it is about, whole."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from imaging import make_folders, make_locked, make_rootfs, make_wheel, plan_jax
from leftovers import flip_byte

from rockiln.build_key import compute_build_key, find_finished_image, remember_image
from rockiln.built_values import BUILT
from rockiln.compatibility import read_compatibility
from rockiln.console import Console
from rockiln.contents import Contents
from rockiln.folders import VALUES
from rockiln.image import Image
from rockiln.jsonable import write_value
from rockiln.layers import split
from rockiln.matrix import read_matrix
from rockiln.plan import PlannedTarget, make_plan
from rockiln.recipe import read_recipes
from rockiln.write_image import write_image

ROOT = Path(__file__).parents[2]
PLANNED = plan_jax()
LOCKED = make_locked(PLANNED, make_wheel("jax", "0.6.2"))
KEY = compute_build_key(PLANNED, LOCKED, "gzip")


@pytest.fixture
def image(tmp_path: Path) -> Image:
    """An image that was built under KEY."""
    folders = make_folders(tmp_path)
    contents = Contents(folders.contents_path)
    plans = split(make_rootfs(contents, {"opt/venv/jax": ("wheel:jax", b"jax" * 1000)}), 40)
    made = write_image(PLANNED, LOCKED, plans, contents, folders, "gzip", 2, Console(None))
    for value in VALUES:
        write_value({"value": value}, made.layout_path.parent / f"{value}.json")
    remember_image(made.layout_path.parent, KEY, made)
    return made


def test_same_key_finds_the_image(image: Image) -> None:
    assert find_finished_image(image.layout_path.parent, KEY) == image


def test_other_key_finds_nothing(image: Image) -> None:
    assert find_finished_image(image.layout_path.parent, KEY[::-1]) is None


def test_folder_may_be_moved(image: Image, tmp_path: Path) -> None:
    moved_path = image.layout_path.parent.rename(tmp_path / "moved")
    assert find_finished_image(moved_path, KEY) == replace(image, layout_path=moved_path / "image")


@pytest.mark.parametrize("name", [BUILT, "image/index.json", "manifest", "config", "rootfs.json"])
def test_changed_file_is_noticed(image: Image, name: str) -> None:
    digests = {"manifest": image.digest, "config": image.config_digest}
    blob = f"image/blobs/{digests.get(name, '').replace(':', '/')}"
    flip_byte(image.layout_path.parent / (blob if name in digests else name), 11)
    assert find_finished_image(image.layout_path.parent, KEY) is None


def test_image_that_is_gone_or_cut_is_noticed(image: Image) -> None:
    layer_path = image.layout_path / "blobs" / image.layers[0].digest.replace(":", "/")
    layer_path.chmod(0o644)
    layer_path.write_bytes(layer_path.read_bytes()[:-1])
    assert find_finished_image(image.layout_path.parent, KEY) is None
    shutil.rmtree(image.layout_path)
    assert find_finished_image(image.layout_path.parent, KEY) is None


def test_compression_plan_and_lock_are_in_the_key() -> None:
    other = replace(LOCKED, artifacts=(make_wheel("jax", "0.6.3"),))
    recipe = replace(PLANNED.recipe, workdir="/elsewhere")
    keys = {
        KEY,
        compute_build_key(PLANNED, LOCKED, "zstd"),
        compute_build_key(PLANNED, other, "gzip"),
        compute_build_key(replace(PLANNED, recipe=recipe), LOCKED, "gzip"),
    }
    assert len(keys) == 4


def plan_all(project_path: Path) -> dict[str, PlannedTarget]:
    recipes = read_recipes(project_path / "images")
    plan = make_plan(read_matrix(project_path / "matrix.toml"), recipes, read_compatibility())
    return {planned.id: planned for planned in plan.targets}


def test_folder_of_the_project_is_not_in_the_key(tmp_path: Path) -> None:
    """Of any of our own rows: another checkout, or another machine's, gives the same keys."""
    shutil.copytree(ROOT / "images", tmp_path / "images")
    shutil.copyfile(ROOT / "matrix.toml", tmp_path / "matrix.toml")
    here, there = plan_all(ROOT), plan_all(tmp_path)
    assert any(planned.recipe.smoke_paths for planned in here.values())
    for target_id, planned in here.items():
        assert compute_build_key(there[target_id], LOCKED, "gzip") == compute_build_key(planned, LOCKED, "gzip")
