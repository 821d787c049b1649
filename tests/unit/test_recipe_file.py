"""image.toml is read into values; sections keep the condition under which they count."""

from __future__ import annotations

from pathlib import Path

import pytest
from matrix_text import CPU_ROW, GPU_ROW, ROOT, TOP

from rockiln.errors import FileFaultsError
from rockiln.matrix import parse_matrix
from rockiln.recipe_file import RecipeFile, When, read_recipes


def read(tmp_path: Path, text: str) -> RecipeFile:
    folder = tmp_path / "images" / "tiny"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "image.toml").write_text("schema = 1\n" + text, encoding="utf-8")
    return read_recipes(tmp_path / "images")["tiny"]


def when(tmp_path: Path, condition: str) -> When:
    text = f'[[packages]]\nwhy = "a test"\nnames = ["hello"]\nwhen = {{ {condition} }}\n'
    return read(tmp_path, text).packages[0].when


@pytest.mark.parametrize(
    ("condition", "cpu", "gpu"),
    [
        ("", True, True),
        ('os = ["debian-12"]', True, False),
        ('rocm-origin = ["cpu"]', True, False),
        ('rocm-origin = ["amd", "debian"]', False, True),
        ('flavour = ["runtime"]', True, True),
        ('flavour = ["devel"]', False, False),
        ('version = "==2.8.0"', False, True),
        ('version = "<1"', True, False),
        ('rocm-origin = ["amd"], os = ["debian-12"]', False, False),
    ],
)
def test_condition_selects_rows(tmp_path: Path, condition: str, cpu: bool, gpu: bool) -> None:
    targets = parse_matrix(TOP + CPU_ROW + GPU_ROW, Path("matrix.toml")).targets
    found = when(tmp_path, condition)
    assert [found.holds(target) for target in targets] == [cpu, gpu]


def test_single_values_that_are_not_given_stay_open(tmp_path: Path) -> None:
    recipe = read(tmp_path, "")
    assert (recipe.workdir, recipe.user, recipe.cmd, recipe.layer_budget, recipe.smoke_tiers) == (None,) * 5


@pytest.mark.parametrize(("value", "fault"), [('"x"', '"x" is not a whole number'), ("0", "0 is not between 1 and")])
def test_layer_budget_has_one_fault_at_most(tmp_path: Path, value: str, fault: str) -> None:
    with pytest.raises(FileFaultsError) as raised:
        read(tmp_path, f"layer-budget = {value}\n")
    assert fault in raised.value.message
    assert len(raised.value.message.splitlines()) == 1


def test_misspelt_optional_key_is_recognised(tmp_path: Path) -> None:
    with pytest.raises(FileFaultsError, match=r'layer-buget: no such key; did you mean "layer-budget"\?'):
        read(tmp_path, "layer-buget = 12\n")


def test_faults_of_two_recipes_are_reported_together(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "image.toml").write_text("schema = 1\nworkdir = 3\n", encoding="utf-8")
    with pytest.raises(FileFaultsError) as caught:
        read_recipes(tmp_path)
    assert [line.split(":")[0].split("/", 1)[1] for line in caught.value.message.splitlines()] == [
        "one/image.toml", "two/image.toml",
    ]  # fmt: skip


def test_folder_without_recipes_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(FileFaultsError, match="no recipe here"):
        read_recipes(tmp_path)


def test_no_recipe_of_ours_sets_a_library_path() -> None:
    recipes = read_recipes(ROOT / "images")
    assert not [name for name, file in recipes.items() for env in file.env if "LD_LIBRARY_PATH" in env.values]
