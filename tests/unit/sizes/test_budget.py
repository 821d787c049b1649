"""A budget: read from a recipe, kept or passed, and what a person is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from matrix_text import CPU_ROW, GPU_ROW, TOP

from rockiln.budget import Budget
from rockiln.errors import FileFaultsError, UsageError
from rockiln.jsonable import write_value
from rockiln.matrix import parse_matrix
from rockiln.recipe import read_recipes, select_recipe
from rockiln.sizes.check_budget import check_budget
from rockiln.sizes.inventory import LayerSize, PackageSize, Sizes
from rockiln.sizes.stored import read_record, read_sizes, write_record

MB = 1_000_000


def make_sizes(name: str, compressed: int, /, **packages: tuple[str, int]) -> Sizes:
    """Packages as NAME=(version, MB)."""
    found = {f"wheel:{key}": PackageSize(version=v, size_bytes=mb * MB, files=1) for key, (v, mb) in packages.items()}
    unpacked = sum(item.size_bytes for item in found.values())
    layer = LayerSize(
        title="all", digest="sha256:1", diff_id="sha256:2", compressed_bytes=compressed * MB, unpacked_bytes=unpacked,
        owners=tuple(found),
    )  # fmt: skip
    return Sizes(
        name=name, digest="sha256:0", compressed_bytes=compressed * MB, unpacked_bytes=unpacked, packages=found,
        archs={"host": unpacked}, kinds={"python": unpacked}, layers=(layer,), code={"a.so": {"gfx942": 1}},
    )  # fmt: skip


OLD = make_sizes("the last build", 60, jax=("1.0", 20), numpy=("2.0", 30), gone=("1", 5))
NEW = make_sizes("tiny", 90, jax=("1.0", 21), numpy=("2.1", 60), scipy=("1.9", 40))


def read_budget(tmp_path: Path, text: str) -> list[Budget]:
    """The budgets of a recipe for a row on CPU and one with a GPU."""
    folder = tmp_path / "images" / "torch"
    folder.mkdir(parents=True)
    (folder / "image.toml").write_text("schema = 1\n" + text, encoding="utf-8")
    recipes = read_recipes(tmp_path / "images")
    targets = parse_matrix(TOP + CPU_ROW + GPU_ROW, Path("matrix.toml")).targets
    return [select_recipe(recipes, replace(target, recipe="torch")).budget for target in targets]


def test_the_last_section_that_counts_wins(tmp_path: Path) -> None:
    text = """
[[budget]]
compressed-mb = 100
unpacked-mb = 300
[[budget]]
when = { rocm-origin = ["amd"] }
compressed-mb = 900
packages-mb = { "wheel:torch" = 400 }
"""
    cpu, gpu = read_budget(tmp_path, text)
    assert cpu == Budget(compressed_bytes=100 * MB, unpacked_bytes=300 * MB)
    expected = Budget(compressed_bytes=900 * MB, unpacked_bytes=300 * MB, packages={"wheel:torch": 400 * MB})
    assert gpu == expected


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("compressed-mb = 0", "0 is no ceiling"),
        ("compressed-mb = -5", "-5 is no ceiling"),
        ('compressed-mb = "5"', '"5" is not a whole number'),
        ('unpacked-mb = "x"', '"x" is not a whole number'),
        ("unpacked-mb = 1.5", "1.5 is not a whole number"),
        ('packages-mb = { "wheel:torch" = "x" }', '"x" is not a whole number'),
        ('packages-mb = { "wheel:torch" = 0 }', "0 is no ceiling"),
        ("compresed-mb = 5", 'did you mean "compressed-mb"'),
        ('packages-mb = { torch = 5 }', '"torch" is no owner; write "wheel:NAME"'),
    ],
)
def test_fault_of_a_budget_is_named(tmp_path: Path, section: str, message: str) -> None:
    with pytest.raises(FileFaultsError) as raised:
        read_budget(tmp_path, f"[[budget]]\n{section}\n")
    assert message in raised.value.message
    assert len(raised.value.message.splitlines()) == 1


@pytest.mark.parametrize(
    "budget",
    [
        Budget(),
        Budget(compressed_bytes=90 * MB, unpacked_bytes=121 * MB),
        Budget(packages={"wheel:numpy": 60 * MB, "wheel:absent": 1}),
    ],
)
def test_image_within_its_budget_is_fine(budget: Budget) -> None:
    assert check_budget(NEW, budget, "tiny", OLD) is None


def test_image_past_its_budget_is_told_by_how_much_and_what_grew() -> None:
    fault = check_budget(NEW, Budget(compressed_bytes=80 * MB, packages={"wheel:numpy": 50 * MB}), "tiny", OLD)
    assert fault is not None
    assert fault.exit_code == 17
    assert [line.strip() for line in fault.message.splitlines()] == [
        "tiny: larger than the budget of images/tiny/image.toml",
        "compressed: 90.0 MB, 80.0 MB allowed, 10.0 MB too much",
        "wheel:numpy, unpacked: 60.0 MB, 50.0 MB allowed, 10.0 MB too much",
        "largest growths since the last build:",
        "+40.0 MB  wheel:scipy 1.9 is new",
        "+30.0 MB  wheel:numpy 2.0 → 2.1",
        "+1.0 MB  wheel:jax 1.0",
    ]
    assert "[[budget]]" in fault.hint


def test_ten_growths_are_listed_at_most() -> None:
    many = make_sizes("tiny", 1, **{f"p{number}": ("1", number + 1) for number in range(15)})
    fault = check_budget(many, Budget(unpacked_bytes=1), "tiny", make_sizes("before", 1))
    assert fault is not None
    assert fault.message.count(" is new") == 10


@pytest.mark.parametrize("earlier", [None, NEW])
def test_without_growth_the_largest_packages_are_listed(earlier: Sizes | None) -> None:
    fault = check_budget(NEW, Budget(unpacked_bytes=1), "tiny", earlier)
    assert fault is not None
    assert fault.message.splitlines()[2:4] == ["largest packages:", "     60.0 MB  wheel:numpy 2.1"]


def test_largest_packages_follow_growths_that_do_not_explain_the_excess() -> None:
    earlier = make_sizes("before", 90, jax=("1.0", 20), numpy=("2.1", 60), scipy=("1.9", 40))
    fault = check_budget(NEW, Budget(compressed_bytes=79 * MB), "tiny", earlier)
    assert fault is not None
    assert [line.strip() for line in fault.message.splitlines()[2:]] == [
        "largest growths since before:", "+1.0 MB  wheel:jax 1.0",
        "largest packages:", "60.0 MB  wheel:numpy 2.1", "40.0 MB  wheel:scipy 1.9", "21.0 MB  wheel:jax 1.0",
    ]  # fmt: skip
    explained = check_budget(NEW, Budget(unpacked_bytes=120 * MB), "tiny", earlier)
    assert explained is not None
    assert "largest packages" not in explained.message


def test_record_reads_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "images" / "tiny" / "sizes" / "tiny.json"
    write_record(NEW, path)
    read = read_record(path)
    assert read is not None
    assert read.name == "images/tiny/sizes/tiny.json"
    assert (read.packages, read.archs, read.compressed_bytes) == (NEW.packages, NEW.archs, NEW.compressed_bytes)
    assert '\n    "wheel:numpy": ["2.1", 60000000, 1],\n' in path.read_text()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"compressed_bytes": 1, "packages": {"a": 1}}'])
def test_damaged_record_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tiny.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="not a record of sizes"):
        read_record(path)


def test_sizes_of_a_build_read_as_they_were_written(tmp_path: Path) -> None:
    write_value(NEW, tmp_path / "sizes.json")
    assert read_sizes(tmp_path / "sizes.json") == NEW


@pytest.mark.parametrize("text", ["", "[]", json.dumps({"name": "of an older rockiln"})])
def test_sizes_that_cannot_be_read_are_as_if_they_were_not_there(tmp_path: Path, text: str) -> None:
    (tmp_path / "sizes.json").write_text(text)
    assert read_sizes(tmp_path / "sizes.json") is None
