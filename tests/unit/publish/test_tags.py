"""Tags say what an image is in AMD's shapes, with full versions; two rows never share one; a dated one never moves."""

from __future__ import annotations

import re

import pytest
from matrix_text import ROOT
from publish.rows import make_gpu_row, make_plan_of, make_row

from rockiln.compatibility import read_compatibility
from rockiln.errors import PlanError, UsageError
from rockiln.image_config import make_labels
from rockiln.lock_file import read_lock
from rockiln.matrix import read_matrix
from rockiln.plan import make_plan
from rockiln.publish.tags import Tags, choose_date, find_free_dated, make_row_tag, make_tags
from rockiln.publish_policy import MovingTag, PublishPolicy
from rockiln.recipe import read_recipes

POLICY = read_matrix(ROOT / "matrix.toml").publish
LABELS = {"dev.rockiln.wheel.rockiln-torch": "0.1.0"}


@pytest.mark.parametrize(
    ("row", "tag"),
    [
        (make_gpu_row("torch"), "rocm7.0.2_ubuntu24.04_py3.11_pytorch_release_1.0-gfx942-gfx950-runtime"),
        (make_gpu_row("tensorflow"), "rocm7.0.2-py3.11-tf1.0-gfx942-gfx950-runtime"),
        (make_gpu_row("jax"), "rocm7.0.2-jax1.0-py3.11-ubu24-gfx942-gfx950-runtime"),
        (make_row("jax", flavour="devel"), "cpu-jax1.0-py3.11-deb12-devel"),
        (make_row("other", "debian-sid"), "cpu-py3.11-1.0-debiansid-runtime"),
    ],
)
def test_tags_have_amds_shapes_with_full_versions(row: object, tag: str) -> None:
    assert make_row_tag(row, POLICY, {}) == tag  # type: ignore[arg-type]


def test_plugin_stands_before_the_archs() -> None:
    tag = make_row_tag(make_gpu_row(), POLICY, LABELS)
    assert tag.endswith("_pytorch_release_1.0-rockiln0.1.0-gfx942-gfx950-runtime")


def test_two_rows_with_one_tag_are_refused() -> None:
    one, other = make_row(os="debian-12"), make_row(os="debian-12.1")
    with pytest.raises(PlanError, match=r"would both be tagged cpu-jax1\.0-py3\.11-deb12-runtime"):
        make_tags(one, make_plan_of(one, other), POLICY, {}, "20261130")


def test_every_planned_row_of_our_matrix_has_a_tag_of_its_own() -> None:
    plan = make_plan(read_matrix(ROOT / "matrix.toml"), read_recipes(ROOT / "images"), read_compatibility())
    tags = [(row.target.framework, make_tags(row, plan, POLICY, {}, "20261130").row) for row in plan.targets]
    assert len(set(tags)) == len(tags) > 5


def test_moving_tag_names_the_row_of_its_glob() -> None:
    row, other = make_row(), make_gpu_row("torch")
    policy = PublishPolicy(moving=(MovingTag(tag="latest", rows="jax-*", meaning="the newest JAX"),))
    assert make_tags(row, make_plan_of(row, other), policy, {}, "20261130").moving == policy.moving
    assert make_tags(other, make_plan_of(row, other), policy, {}, "20261130").moving == ()


def test_moving_tag_that_could_mean_two_rows_is_refused() -> None:
    one, other = make_row(), make_row(flavour="devel")
    policy = PublishPolicy(moving=(MovingTag(tag="latest", rows="*", meaning="something"),))
    with pytest.raises(PlanError, match="it can mean one only"):
        make_tags(one, make_plan_of(one, other), policy, {}, "20261130")


def test_date_is_said_or_of_the_epoch_or_todays() -> None:
    now_s = 1_796_000_000.0
    assert choose_date("20300228", {"SOURCE_DATE_EPOCH": "0"}, now_s) == "20300228"
    assert choose_date("", {"SOURCE_DATE_EPOCH": "0"}, now_s) == "19700101"
    assert choose_date("", {}, now_s) == "20261130"


@pytest.mark.parametrize("said", ["2026-11-30", "20260230", "today", "2026113"])
def test_what_is_no_day_is_refused(said: str) -> None:
    with pytest.raises(UsageError, match="is no day"):
        choose_date(said, {}, 0)


def test_epoch_that_is_no_number_is_refused() -> None:
    with pytest.raises(UsageError, match="SOURCE_DATE_EPOCH"):
        choose_date("", {"SOURCE_DATE_EPOCH": "yesterday"}, 0)


def test_second_build_of_a_day_gets_a_number() -> None:
    tags = Tags(row="t", date="20261130", moving=())
    assert find_free_dated(tags, ()) == "t-20261130"
    assert find_free_dated(tags, ("t-20261130",)) == "t-20261130.1"
    assert find_free_dated(tags, ("t-20261130", "t-20261130.1", "t-20261130.10")) == "t-20261130.11"


def test_tags_in_docs_are_those_of_our_rows() -> None:
    """By the lock where it has the row; else with our plugin for the framework, if there is one."""
    plan = make_plan(read_matrix(ROOT / "matrix.toml"), read_recipes(ROOT / "images"), read_compatibility())
    lock, made = read_lock(ROOT / "matrix.lock"), {}
    for row in plan.targets:
        locked, plugin = lock.targets.get(row.id), f"rockiln-{row.target.framework}"
        brings = (ROOT / "plugins" / plugin).is_dir()
        labels = make_labels(row, locked) if locked else {f"dev.rockiln.wheel.{plugin}": "0.1.0"} if brings else {}
        made[row.id] = make_row_tag(row, POLICY, labels)
    page = (ROOT / "docs" / "publish.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|$", page, re.MULTILINE))
    assert table == {row: made[row] for row in table}
    assert {row.partition("-")[0] for row in table} == {"jax", "tensorflow", "torch"}
    (pulled,) = re.findall(r"rockiln pull ghcr\.io/\S+?:(\S+)", (ROOT / "docs" / "pull.md").read_text(encoding="utf-8"))
    assert pulled in made.values()
