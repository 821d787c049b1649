"""This checkout → a copy of what rockiln reads of it, and a cache in which our own wheels are built already."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from rockiln.console import Console
from rockiln.own_distributions import find_distributions, select_own
from rockiln.resolve.host_index import find_index
from rockiln.resolve.own_wheels import FOLDER, OwnBuilder
from rockiln.store import Store

ROOT_PATH = Path(__file__).parents[1]
KEPT_PATH = ROOT_PATH / "build" / "own-wheels-of-tests"
_IGNORED = shutil.ignore_patterns("__pycache__", "build", "dist", ".*_cache", "tests")


FEW_FAMILIES = ("rope.py", "silu_and_mul.py")
"""A pack of these is compiled in seconds; of all, in a quarter of an hour."""
PLUGINS = ("rockiln-torch", "rockiln-jax", "rockiln-tensorflow")


def copy_project(path: Path) -> Path:
    """matrix.toml, the recipes, and our own distributions without their tests."""
    path.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT_PATH / "matrix.toml", path)
    shutil.copytree(ROOT_PATH / "images", path / "images")
    for name in ("plugins", "compat"):
        shutil.copytree(ROOT_PATH / name, path / name, ignore=_IGNORED)
    return path


def copy_small_project(path: Path) -> Path:
    """The same with two families of ops, and without the plugins: for rows in which the framework is a stub."""
    copy_project(path)
    for name in PLUGINS:
        shutil.rmtree(path / "plugins" / name, ignore_errors=True)
    for spec in (path / "plugins/rockiln-kernels/src/rockiln_kernels/specs").glob("[a-z]*.py"):
        if spec.name not in FEW_FAMILIES:
            spec.unlink()
    return path


def have_own_wheels(project_path: Path, cache_path: Path, names: Iterable[str]) -> None:
    """Put the wheels of a copied project's distributions into a cache, where no index answers that has build tools.

    They are built from this host's index, once for the same sources.
    """
    builder = OwnBuilder(
        project_path=project_path, cache_path=KEPT_PATH, index_url=find_index(os.environ),
        store=Store(KEPT_PATH / "store"), environ=os.environ, console=Console(None),
    )  # fmt: skip
    found = find_distributions(project_path)
    for name in select_own(names, (), found):
        builder.make_artifact(found[name])
        tree = found[name].hash_sources()
        shutil.copytree(KEPT_PATH / FOLDER / tree, cache_path / FOLDER / tree, dirs_exist_ok=True)
