"""Headers of checks: read, and every fault named at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rockiln.checks import find_checks
from rockiln.compatibility import read_compatibility
from rockiln.errors import FileFaultsError
from rockiln.matrix import read_matrix
from rockiln.plan import make_plan
from rockiln.recipe import Recipe, read_recipes

ROOT = Path(__file__).parents[2]


def make_recipe(*paths: Path) -> Recipe:
    plan = make_plan(read_matrix(ROOT / "matrix.toml"), read_recipes(ROOT / "images"), read_compatibility())
    return replace(plan.targets[0].recipe, smoke_paths=paths)


def write(folder: Path, name: str, header: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"check_{name}.py").write_text(f'{header}"""What is checked."""\n')


def test_header_says_how_to_run(tmp_path: Path) -> None:
    write(tmp_path, "one", "# tier: gpu\n# timeout-s: 2.5\n# user: 7:8\n# read-only-root: true\n")
    (check,) = find_checks(make_recipe(tmp_path))
    assert (check.name, check.tier, check.timeout_s) == ("one", "gpu", 2.5)
    assert (check.user, check.read_only_root) == ("7:8", True)


def test_own_check_replaces_that_of_the_extended_recipe(tmp_path: Path) -> None:
    for folder in ("base", "own"):
        write(tmp_path / folder, "same", "# tier: cpu\n# timeout-s: 1\n")
    write(tmp_path / "base", "other", "# tier: cpu\n# timeout-s: 1\n")
    found = find_checks(make_recipe(tmp_path / "base", tmp_path / "own"))
    assert [check.path.parent.name for check in found] == ["base", "own"]


def test_cpu_checks_come_first_then_names(tmp_path: Path) -> None:
    for name, tier in (("b", "multi-gpu"), ("a", "gpu"), ("z", "cpu"), ("y", "cpu")):
        write(tmp_path, name, f"# tier: {tier}\n# timeout-s: 1\n")
    assert [check.name for check in find_checks(make_recipe(tmp_path))] == ["y", "z", "a", "b"]


def test_all_faults_are_named_at_once(tmp_path: Path) -> None:
    write(tmp_path, "one", "# tier: cpus\n# timeout-s: soon\n# colour: blue\n# user: root\n# read-only-root: yes\n")
    write(tmp_path, "two", "")
    with pytest.raises(FileFaultsError) as caught:
        find_checks(make_recipe(tmp_path))
    one, two = tmp_path / "check_one.py", tmp_path / "check_two.py"
    assert caught.value.message.splitlines() == [
        f"{one}: header: colour: no such key; there are tier, timeout-s, user, read-only-root",
        f"{one}: header: tier: 'cpus' is none of cpu, gpu, multi-gpu",
        f"{one}: header: user: 'root' is not uid or uid:gid",
        f"{one}: header: read-only-root: 'yes' is neither true nor false",
        f"{one}: header: timeout-s: 'soon' is not a number of seconds from 0 to 3600",
        f"{two}: header: tier: is missing",
        f"{two}: header: timeout-s: is missing",
    ]


def test_every_recipe_has_checks_for_each_of_its_tiers() -> None:
    plan = make_plan(read_matrix(ROOT / "matrix.toml"), read_recipes(ROOT / "images"), read_compatibility())
    for planned in plan.targets:
        tiers = {check.tier for check in find_checks(planned.recipe)}
        assert set(planned.recipe.smoke_tiers) <= tiers, planned.id


def test_image_without_rocm_has_the_cpu_tier_alone() -> None:
    plan = make_plan(read_matrix(ROOT / "matrix.toml"), read_recipes(ROOT / "images"), read_compatibility())
    tiers = {bool(planned.target.rocm): planned.recipe.smoke_tiers for planned in plan.targets}
    assert tiers == {True: ("cpu", "gpu", "multi-gpu"), False: ("cpu",)}
