"""What was attested decides what tags may say: failed never, untested only where that is allowed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from publish.rows import CHECKS, make_gpu_row, make_row

from rockiln.errors import PromotionError
from rockiln.publish.gate import judge_images, judge_results, require_fit
from rockiln.publish.results import Status, TierResult


def result(
    tier: str, status: Status, *, archs: tuple[str, ...] = (), finished: str = "2026-11-30T10:00:00Z",
    passed: tuple[str, ...] | None = None, is_signed: bool = True,
) -> TierResult:  # fmt: skip
    its = tuple(check.name for check in CHECKS if check.tier == tier)
    return TierResult(
        tier=tier, status=status, reason=f"{tier} is {status}", archs=archs, finished=finished, is_signed=is_signed,
        passed=its if passed is None else passed,
    )  # fmt: skip


CPU = result("cpu", "passed")


def test_row_without_gpus_needs_its_cpu_tier() -> None:
    verdict = judge_results(make_row(), CHECKS, [CPU])
    assert (verdict.tested, verdict.untested, verdict.failed) == (("cpu",), {}, {})
    require_fit(make_row(), verdict, (), allow_untested=False)


def test_nothing_attested_moves_no_tag_whatever_is_allowed() -> None:
    verdict = judge_results(make_row(), CHECKS, [])
    with pytest.raises(PromotionError, match=r"cpu: not tested: of the results .* none counts") as caught:
        require_fit(make_row(), verdict, ("sha256:ab…: not signed: --allow-unsigned takes it",), allow_untested=True)
    assert "does not count: sha256:ab…: not signed" in caught.value.message
    assert "rockiln smoke REF@sha256:… --attest --key FILE" in caught.value.hint


def test_image_of_which_nothing_is_known_gets_no_tag_whatever_is_allowed() -> None:
    row = make_row()
    nothing = replace(row, recipe=replace(row.recipe, smoke_tiers=(), required_tiers=()))
    with pytest.raises(PromotionError, match="no tier of checks"):
        require_fit(nothing, judge_results(nothing, CHECKS, []), (), allow_untested=True)
    gpu_only = make_gpu_row()
    gpu_only = replace(gpu_only, recipe=replace(gpu_only.recipe, smoke_tiers=("gpu",), required_tiers=()))
    with pytest.raises(PromotionError, match="gpu on gfx942: not tested"):
        require_fit(gpu_only, judge_results(gpu_only, CHECKS, []), (), allow_untested=True)


def test_each_arch_has_to_be_proven_on_its_own() -> None:
    row = make_gpu_row()
    verdict = judge_results(row, CHECKS, [CPU, result("gpu", "passed", archs=("gfx942",))])
    assert verdict.tested == ("cpu", "gpu on gfx942")
    assert list(verdict.untested) == ["gpu on gfx950"]
    with pytest.raises(PromotionError, match="gpu on gfx950: not tested"):
        require_fit(row, verdict, (), allow_untested=False)
    require_fit(row, verdict, (), allow_untested=True)


def test_missing_gpu_is_told_with_its_reason_and_needs_permission() -> None:
    row = make_gpu_row()
    verdict = judge_results(row, CHECKS, [CPU, result("gpu", "unavailable", passed=())])
    assert set(verdict.untested.values()) == {"gpu is unavailable"}
    with pytest.raises(PromotionError) as caught:
        require_fit(row, verdict, (), allow_untested=False)
    assert "--allow-untested" in caught.value.hint


def test_node_without_a_gpu_says_nothing_against_one_that_has() -> None:
    results = [
        CPU, result("gpu", "passed", archs=("gfx942", "gfx950")),
        result("gpu", "unavailable", passed=(), finished="2026-12-01T00:00:00Z"),
    ]  # fmt: skip
    assert judge_results(make_gpu_row(), CHECKS, results).untested == {}


def test_failed_gpu_tier_moves_no_tag_whatever_is_allowed() -> None:
    row = make_gpu_row()
    verdict = judge_results(row, CHECKS, [CPU, result("gpu", "failed", archs=("gfx942",))])
    with pytest.raises(PromotionError, match="gpu on gfx942: failed: gpu is failed"):
        require_fit(row, verdict, (), allow_untested=True)


@pytest.mark.parametrize(("first", "second", "is_tested"), [("failed", "passed", True), ("passed", "failed", False)])
def test_newest_result_counts_in_whatever_order_they_come(first: Status, second: Status, is_tested: bool) -> None:
    results = [result("cpu", second, finished="2026-12-02T00:00:00Z"), result("cpu", first)]
    for its in (results, results[::-1]):
        assert (judge_results(make_row(), CHECKS, its).tested == ("cpu",)) is is_tested


def test_run_of_fewer_checks_than_there_are_today_proves_nothing() -> None:
    verdict = judge_results(make_row(), CHECKS, [result("cpu", "passed", passed=("imports",))])
    assert verdict.untested == {"cpu": "an older run without computes"}


def test_unsigned_results_are_noted() -> None:
    assert judge_results(make_row(), CHECKS, [result("cpu", "passed", is_signed=False)]).has_unsigned
    assert not judge_results(make_row(), CHECKS, [CPU]).has_unsigned


def test_image_of_two_platforms_is_proven_where_both_are() -> None:
    row = make_row()
    assert judge_images(row, CHECKS, [[CPU], [CPU]]).tested == ("cpu",)
    half = judge_images(row, CHECKS, [[CPU], []])
    assert (half.tested, list(half.untested)) == ((), ["cpu"])
