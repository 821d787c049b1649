"""Rows become targets, or are rejected with every reason."""

from __future__ import annotations

import socket
import subprocess
import sys
from dataclasses import replace

import pytest
from matrix_text import CPU_ID, CPU_ROW, GPU_ID, GPU_ROW, ROOT, TOP, add_candidate, plan_text

from rockiln.compatibility import read_compatibility
from rockiln.errors import PlanError
from rockiln.matrix import read_matrix
from rockiln.plan import make_plan, plugin_cells, select_targets
from rockiln.recipe_file import read_recipes

PLAN = make_plan(read_matrix(ROOT / "matrix.toml"), read_recipes(ROOT / "images"), read_compatibility())


AMD_ARCHS = "gfx908, gfx90a, gfx942, gfx950, gfx1030, gfx1100, gfx1101, gfx1200, gfx1201"


def test_every_row_of_ours_is_planned() -> None:
    assert not PLAN.rejected
    assert len(PLAN.targets) >= 11


def test_first_candidate_is_taken_and_conjecture_is_a_caveat() -> None:
    (planned,) = select_targets(PLAN, ["tensorflow-*-rocm*"])
    assert planned.id.startswith("tensorflow-2.19.1-")
    assert planned.taken.evidence == "conjectured"
    assert any("2.19.1" in caveat and caveat.startswith("conjectured") for caveat in planned.caveats)


def test_id_names_the_version_of_the_candidate_that_was_taken() -> None:
    other = add_candidate("jax-0.6.1", "0.6.1", "jax==0.6.2", "jaxlib==0.6.1")
    row = CPU_ROW.replace('["jax-0.6.2-cpu"]', '["jax-0.6.1", "jax-0.6.2-cpu"]')
    (planned,) = plan_text(TOP + other + row).targets
    assert planned.id == CPU_ID
    assert [(str(item.candidate.version), item.reason) for item in planned.passed_over] == [
        ("0.6.1", "its wheel jax is 0.6.2, not 0.6.1")
    ]


def test_wheels_of_the_recipe_are_taken_too() -> None:
    (planned,) = select_targets(PLAN, [CPU_ID])
    assert [wheel.name for wheel in planned.taken.wheels] == ["jax", "jaxlib", "pip"]


def test_rejected_row_has_every_reason() -> None:
    row = GPU_ROW.replace("ubuntu-24.04", "debian-13").replace('"gfx942"', '"gfx1151"') + 'recipe = "torsh"\n'
    plan = plan_text(TOP + row)
    assert not plan.targets
    assert plan.rejected[0].reasons == (
        "debian-13 has no Python 3.12, only 3.13 (Debian 13 main: python3.13)",
        f"amd ROCm 7.0.2 has no code for gfx1151, only for {AMD_ARCHS}",
        "amd ROCm 7.0.2 does not support gfx950 on debian-13",
        'no recipe images/torsh/image.toml; did you mean "torch"?',
    )


def test_unchecked_date_and_absent_libraries_are_caveats() -> None:
    (planned,) = select_targets(PLAN, ["*debian-sid*"])
    assert sum("check-valid-until = false" in caveat for caveat in planned.caveats) == 2
    assert sum(caveat.startswith("absent: librocprofiler-sdk") for caveat in planned.caveats) == 3


def test_two_rows_that_come_to_one_id_are_not_both_planned() -> None:
    other = add_candidate("jax-0.6.1", "0.6.1", "jax==0.6.2", "jaxlib==0.6.1")
    row = CPU_ROW.replace('["jax-0.6.2-cpu"]', '["jax-0.6.1", "jax-0.6.2-cpu"]')
    plan = plan_text(TOP + other + CPU_ROW + row)
    assert [planned.id for planned in plan.targets] == [CPU_ID]
    assert "an earlier row comes to the same id" in plan.rejected[0].reasons[0]


def test_globs_select_in_the_order_of_the_plan() -> None:
    plan = plan_text(TOP + CPU_ROW + GPU_ROW)
    assert [planned.id for planned in select_targets(plan, ["torch-*", "*-cpu-*"])] == [CPU_ID, GPU_ID]
    assert len(select_targets(plan, [])) == 2


def test_plus_and_dot_are_plain_characters_in_a_glob() -> None:
    assert [planned.id for planned in select_targets(plan_text(TOP + CPU_ROW + GPU_ROW), [GPU_ID])] == [GPU_ID]


def test_unknown_target_suggests_the_closest() -> None:
    with pytest.raises(PlanError, match=f'did you mean "{CPU_ID}"') as caught:
        select_targets(plan_text(TOP + CPU_ROW), ["jax-0.6.2-cpu-py3.11-debian-11"])
    assert "rockiln plan" in caught.value.hint


def test_rejected_target_repeats_its_reasons() -> None:
    with pytest.raises(PlanError, match=r"is rejected: debian-12 has no Python 3\.12"):
        select_targets(plan_text(TOP + CPU_ROW.replace("3.11", "3.12")), ["jax-*"])


def test_plugin_cells_are_framework_and_version() -> None:
    assert plugin_cells(plan_text(TOP + CPU_ROW + GPU_ROW)) == (("jax", "0.6.2"), ("torch", "2.8.0"))


def test_planning_opens_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(socket, "socket", refuse)
    assert plan_text(TOP + CPU_ROW).targets


def test_planning_imports_nothing_heavy() -> None:
    heavy = "{'docker', 'httpx', 'rich', 'tomlkit', 'requests', 'zstandard', 'asyncio', 'debian'}"
    code = f"import sys, rockiln.plan, rockiln.compatibility; sys.exit(' '.join({heavy} & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_plan_is_the_same_each_time() -> None:
    again = make_plan(read_matrix(ROOT / "matrix.toml"), read_recipes(ROOT / "images"), read_compatibility())
    assert [replace(planned, recipe=PLAN.targets[0].recipe) for planned in again.targets] == [
        replace(planned, recipe=PLAN.targets[0].recipe) for planned in PLAN.targets
    ]
