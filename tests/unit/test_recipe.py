"""A recipe is selected for a target: what it extends first, conditions applied."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from matrix_text import ROOT
from packaging.version import Version

from rockiln.matrix import Target, read_matrix
from rockiln.recipe import Recipe, read_recipes, select_recipe

TARGETS = {target.id: target for target in read_matrix(ROOT / "matrix.toml").targets}
RECIPES = read_recipes(ROOT / "images")


def find(part: str) -> Target:
    return next(target for target_id, target in TARGETS.items() if part in target_id)


def select(part: str) -> Recipe:
    return select_recipe(RECIPES, find(part))


def test_extended_recipe_comes_first() -> None:
    packages = select("jax-0.6.0-rocm7.0.2").packages
    assert packages.index("bash") < packages.index("rocprofiler-sdk")


def test_cpu_image_holds_nothing_of_rocm() -> None:
    recipe = select("jax-0.6.2-cpu")
    assert "ROCM_PATH" not in recipe.env
    assert not recipe.links
    assert not {"hip-runtime-amd", "libamdhip64-7", "rccl"} & set(recipe.packages)


def test_rocm_origin_selects_package_names() -> None:
    amd, debian = select("jax-0.6.0-rocm7.0.2").packages, select("debian-sid").packages
    assert "rocblas" in amd
    assert "librocblas5" not in amd
    assert "librocblas5" in debian
    assert "rocblas" not in debian


def test_devel_flavour_adds_compilers() -> None:
    assert set(select("gfx950-devel").packages) > set(select("torch-2.8.0-rocm7.0.2").packages)
    assert "hipcc" in select("gfx950-devel").packages


def test_sid_takes_the_python_of_its_row() -> None:
    packages = select("debian-sid").packages
    assert "python3.13" in packages
    assert "python3" not in packages


def test_no_image_sets_a_library_path() -> None:
    recipes = {target_id: select_recipe(RECIPES, target) for target_id, target in TARGETS.items()}
    assert not [target_id for target_id, recipe in recipes.items() if "LD_LIBRARY_PATH" in recipe.env]


def test_venv_comes_first_on_every_path() -> None:
    for target in TARGETS.values():
        assert select_recipe(RECIPES, target).env["PATH"].startswith("/opt/venv/bin:")


def test_caches_are_in_writable_folders() -> None:
    recipe = select("torch-2.8.0-rocm7.0.2")
    for name in ("MIOPEN_USER_DB_PATH", "TRITON_CACHE_DIR"):
        assert recipe.env[name].lstrip("/") in recipe.writable_folders


def test_plugin_edit_is_for_jax_0_6_0_on_rocm_only() -> None:
    (edit,) = select("jax-0.6.0-rocm7.0.2").edits
    assert edit.path == "opt/venv/lib/python3.12/site-packages/jaxlib/plugin_support.py"
    assert select("debian-sid").edits[0].path.startswith("opt/venv/lib/python3.13/")
    assert not select("jax-0.6.2-cpu").edits
    later = replace(find("jax-0.6.0-rocm7.0.2"), version=Version("0.6.1"))
    assert not select_recipe(RECIPES, later).edits


@pytest.mark.network
def test_plugin_edit_fits_the_published_jaxlib(tmp_path: Path) -> None:
    import subprocess
    import sys
    import zipfile

    pytest.importorskip("pip")
    (edit,) = select("jax-0.6.0-rocm7.0.2").edits
    flags = ("--no-deps", "--only-binary=:all:", "--python-version=3.12", "--platform=manylinux2014_x86_64")
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", *flags, "-d", tmp_path, "jaxlib==0.6.0"], check=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        before = wheel.read("jaxlib/plugin_support.py").decode()
    assert hashlib.sha256(before.encode()).hexdigest() == edit.sha256_before
    assert before.count(edit.replace) == 1
    assert hashlib.sha256(before.replace(edit.replace, edit.text).encode()).hexdigest() == edit.sha256_after
