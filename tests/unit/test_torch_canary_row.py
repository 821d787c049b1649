"""tests/torch_canary in this checkout's torch recipe → a row with rockiln-torch and Triton's tools; built by night."""

from __future__ import annotations

import shutil
from pathlib import Path

from rockiln.compatibility import read_compatibility
from rockiln.lock import own_names
from rockiln.matrix import read_matrix
from rockiln.own_distributions import find_distributions
from rockiln.plan import make_plan
from rockiln.recipe import read_recipes
from rockiln.smoke import find_checks

ROOT = Path(__file__).parents[2]
CANARY = ROOT / "tests/torch_canary"


def test_canary_holds_the_plugin_and_what_triton_needs(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "images", tmp_path / "images")
    (tmp_path / "images/torch-canary").mkdir()
    shutil.copy(CANARY / "image.toml", tmp_path / "images/torch-canary")
    recipes = read_recipes(tmp_path / "images")
    (planned,) = make_plan(read_matrix(CANARY / "matrix.toml"), recipes, read_compatibility()).targets
    assert own_names(planned, find_distributions(ROOT)) == ("hipcompat", "rockiln-kernels", "rockiln-torch")
    assert {"g++", "gcc", "lld-22", "python3-dev"} <= set(planned.recipe.packages)
    names = {check.name for check in find_checks(planned.recipe)}
    assert names >= {"block", "compile", "own_packages", "rockiln_ops", "triton"}
