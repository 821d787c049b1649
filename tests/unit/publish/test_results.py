"""A smoke report as an in-toto test result, and back; the GPUs of a node as its kernel tells them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rockiln.checks import Check
from rockiln.publish.results import find_archs, hash_checks, make_predicate, read_results
from rockiln.smoke import CheckResult, Failed, Outcome, Passed, SmokeReport, Unavailable


def make_report(*outcomes: tuple[str, str, Outcome]) -> SmokeReport:
    checks = tuple(CheckResult(name=name, tier=tier, outcome=it, duration_s=0.5) for tier, name, it in outcomes)
    return SmokeReport(
        target_id="jax-1.0", image_digest="sha256:ab", reference="rockiln/jax:1", engine="fake",
        required_tiers=("cpu",), checks=checks,
    )  # fmt: skip


def test_result_is_read_as_it_was_made() -> None:
    report = make_report(
        ("cpu", "imports", Passed(log="long")), ("cpu", "computes", Passed(log="")),
        ("gpu", "kernels", Unavailable(reason="no AMD GPU")),
    )  # fmt: skip
    predicate = json.loads(json.dumps(make_predicate(report, (), ("gfx950", "gfx942"), 0)))
    assert predicate["result"] == "WARNED"
    assert predicate["passedTests"] == ["cpu/computes", "cpu/imports"]
    assert "long" not in json.dumps(predicate)
    cpu, gpu = read_results(predicate, is_signed=True)
    assert (cpu.status, cpu.passed, cpu.archs) == ("passed", ("computes", "imports"), ("gfx942", "gfx950"))
    assert (gpu.status, gpu.reason, gpu.finished) == ("unavailable", "no AMD GPU", "1970-01-01T00:00:00Z")


def test_one_failed_check_makes_the_tier_fail() -> None:
    outcome = Failed(reason="exit code 1", log="")
    report = make_report(("cpu", "a", Passed(log="")), ("cpu", "b", Unavailable(reason="no")), ("cpu", "c", outcome))
    predicate = make_predicate(report, (), (), 0)
    assert predicate["result"] == "FAILED"
    assert [item.status for item in read_results(predicate, is_signed=False)] == ["failed"]


ODD = {"archs": [], "finished": "", "tiers": {"cpu": {"status": "ok", "reason": ""}}}


@pytest.mark.parametrize("change", [{}, {"passedTests": 5, "dev.rockiln.smoke": ODD}, {"dev.rockiln.smoke": ODD}])
def test_other_predicates_are_no_results(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"not a result of rockiln smoke|a tier is 'ok'"):
        read_results({"passedTests": [], **change}, is_signed=True)


def test_hash_of_checks_is_of_their_text_not_their_place(tmp_path: Path) -> None:
    def make_check(folder: str, text: str) -> Check:
        path = tmp_path / folder / "check_a.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return Check(name="a", path=path, tier="cpu", timeout_s=1)

    one = hash_checks([make_check("x", "1")])
    assert one == hash_checks([make_check("y", "1")])
    assert one != hash_checks([make_check("z", "2")])


def test_gpus_are_those_of_the_kernels_topology(tmp_path: Path) -> None:
    for number, version in enumerate(("0", "90402", "90402", "110001", "90010")):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "properties").write_text(f"cpu_cores_count 0\ngfx_target_version {version}\n")
    assert find_archs(tmp_path) == ("gfx1101", "gfx90a", "gfx942")
    assert find_archs(tmp_path / "absent") == ()
