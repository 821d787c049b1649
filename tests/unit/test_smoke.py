"""Smoke on a fake engine: what is green, what is not, and what the report says."""

from __future__ import annotations

import json
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from test_checks import make_recipe, write

from fakes import FakeEngine, FakeProcess, HangingError
from rockiln.console import Console
from rockiln.errors import EngineError, SmokeFailedError, UnavailableError
from rockiln.image import Image
from rockiln.jsonable import dump
from rockiln.recipe import Recipe
from rockiln.smoke import Failed, Passed, SmokeReport, Unavailable, describe_report, find_fault, run_smoke, to_junit
from tiny_image import make_tar, write_layout

Behaviour = Callable[[FakeProcess], int]


@pytest.fixture
def image(tmp_path: Path) -> Image:
    return write_layout(tmp_path / "image", [make_tar([("file", 0o644, b"")])], {"WorkingDir": "/work"})


def behave(text: str, code: int) -> Behaviour:
    def program(process: FakeProcess) -> int:
        process.stdout += text.encode()
        process.stderr += f"stderr of {text}".encode() if code else b""
        return code

    return program


def hang(process: FakeProcess) -> int:
    process.stderr += b"Timeout (0:00:01)!\nThread 0x00007f"
    raise HangingError


def smoke(
    image: Image, folder: Path, behaviours: Mapping[str, Behaviour], tiers: tuple[str, ...] = (), jobs: int = 1
) -> tuple[SmokeReport, FakeEngine, Recipe]:
    """Checks called TIER_NAME, each with its behaviour."""
    for name in behaviours:
        write(folder, name, f"# tier: {name.partition('_')[0]}\n# timeout-s: 1\n")

    def python(process: FakeProcess) -> int:
        return behaviours[Path(process.argv[2]).stem.removeprefix("check_")](process)

    engine = FakeEngine(programs={"python": python})
    recipe = replace(make_recipe(folder), smoke_tiers=("cpu", "gpu"), required_tiers=("cpu",))
    return run_smoke(image, recipe, engine, tiers, jobs, Console(None)), engine, recipe


def test_exit_codes_decide(image: Image, tmp_path: Path) -> None:
    behaviours = {
        "cpu_fine": behave("all well\n", 0),
        "cpu_broken": behave("wrong\n", 1),
        "cpu_hanging": hang,
        "gpu_none": behave("first line\nno AMD GPU: /dev/kfd is not here\n", 77),
    }
    report, _, recipe = smoke(image, tmp_path / "smoke", behaviours)
    outcomes = {result.name: result.outcome for result in report.checks}
    assert outcomes["cpu_fine"] == Passed(log="--- stdout\nall well\n")
    broken, hanging = outcomes["cpu_broken"], outcomes["cpu_hanging"]
    assert isinstance(broken, Failed)
    assert broken.reason == "exit code 1: stderr of wrong"
    assert isinstance(hanging, Failed)
    assert hanging.reason == "not done after 1 s; the stacks of all threads are in the log"
    assert "Thread 0x00007f" in hanging.log
    assert isinstance(outcomes["gpu_none"], Unavailable)
    assert outcomes["gpu_none"].reason == "no AMD GPU: /dev/kfd is not here"
    fault = find_fault(report, recipe)
    assert isinstance(fault, SmokeFailedError)
    assert "2 checks failed" in fault.message


def test_missing_gpu_is_no_fault_unless_required(image: Image, tmp_path: Path) -> None:
    behaviours = {"cpu_fine": behave("", 0), "gpu_none": behave("no AMD GPU\n", 77)}
    report, _, recipe = smoke(image, tmp_path / "smoke", behaviours)
    assert find_fault(report, recipe) is None
    required = find_fault(report, replace(recipe, required_tiers=("cpu", "gpu")))
    assert isinstance(required, UnavailableError)
    assert "gpu: no AMD GPU" in required.message


def test_tier_asked_for_by_name_must_run(image: Image, tmp_path: Path) -> None:
    behaviours = {"cpu_fine": behave("", 0), "gpu_none": behave("no AMD GPU\n", 77)}
    report, engine, recipe = smoke(image, tmp_path / "smoke", behaviours, tiers=("gpu",))
    assert [result.name for result in report.checks] == ["gpu_none"]
    assert isinstance(find_fault(report, recipe), UnavailableError)
    assert len(engine.commands) == 1


def test_tier_without_checks_is_not_green(image: Image, tmp_path: Path) -> None:
    report, _, recipe = smoke(image, tmp_path / "smoke", {"gpu_only": behave("", 0)})
    (empty,) = [result for result in report.checks if result.tier == "cpu"]
    assert isinstance(empty.outcome, Unavailable)
    assert isinstance(find_fault(report, recipe), UnavailableError)


def test_check_runs_as_its_header_says(image: Image, tmp_path: Path) -> None:
    folder = tmp_path / "smoke"
    write(folder, "as_user", "# tier: cpu\n# timeout-s: 40\n# user: 54321\n# read-only-root: true\n")
    engine = FakeEngine(programs={"python": behave("", 0)})
    run_smoke(image, make_recipe(folder), engine, ("cpu",), 1, Console(None))
    (command,) = engine.commands
    assert (command.user, command.read_only_root, command.timeout_s, command.gpus) == ("54321", True, 40, False)
    assert command.argv[:3] == ("python", "/run/rockiln/smoke/run_check.py", "/run/rockiln/smoke/" + _place(folder))
    assert command.argv[3] == "37.0"
    assert not [mount for mount in command.mounts if mount.writable]
    assert command.workdir == ""
    assert command.use_entrypoint


def _place(folder: Path) -> str:
    return f"{folder.parent.name}/check_as_user.py"


def test_gpus_are_passed_to_gpu_tiers_only(image: Image, tmp_path: Path) -> None:
    behaviours = {"cpu_a": behave("", 0), "gpu_b": behave("", 0), "multi-gpu_c": behave("", 0)}
    _, engine, _ = smoke(image, tmp_path / "smoke", behaviours, tiers=("cpu", "gpu", "multi-gpu"))
    assert [command.gpus for command in engine.commands] == [False, True, True]


def test_order_of_the_report_does_not_depend_on_jobs(image: Image, tmp_path: Path) -> None:
    together = threading.Barrier(2, timeout=5)

    def slow(_: FakeProcess) -> int:
        together.wait()
        time.sleep(0.1)
        return 0

    def quick(_: FakeProcess) -> int:
        together.wait()
        return 0

    report, _, _ = smoke(image, tmp_path / "smoke", {"cpu_a": slow, "cpu_b": quick}, tiers=("cpu",), jobs=2)
    assert [result.name for result in report.checks] == ["cpu_a", "cpu_b"]
    assert {result.outcome.status for result in report.checks} == {"passed"}


def test_engine_fault_of_one_check_fails_that_check(image: Image, tmp_path: Path) -> None:
    def refuse(_: FakeProcess) -> int:
        raise EngineError("python: not found", hint="is it in the image?")

    report, _, _ = smoke(image, tmp_path / "smoke", {"cpu_a": refuse, "cpu_b": behave("", 0)}, tiers=("cpu",))
    assert [result.outcome.status for result in report.checks] == ["failed", "passed"]
    assert report.checks[0].outcome == Failed(reason="python: not found", log="is it in the image?")


def test_report_is_json_and_junit(image: Image, tmp_path: Path) -> None:
    bad = behave("\x1b[31mred & <wrong>\x00\n", 1)
    behaviours = {"cpu_bad": bad, "cpu_good": behave("ok\n", 0), "gpu_none": behave("no\n", 77)}
    report, _, _ = smoke(image, tmp_path / "smoke", behaviours)
    value = json.loads(dump(report))
    assert [check["outcome"]["status"] for check in value["checks"]] == ["failed", "passed", "unavailable"]
    assert value["image_digest"] == image.digest
    suite = ET.fromstring(to_junit(report))  # noqa: S314 - our own
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    failure, skipped = suite.find("testcase/failure"), suite.find("testcase/skipped")
    assert failure is not None
    assert "\\x1b[31mred & <wrong>\\x00" in (failure.text or "")
    assert skipped is not None
    assert skipped.get("message") == "no"


def test_description_has_a_line_a_check_and_counts(image: Image, tmp_path: Path) -> None:
    report, _, _ = smoke(image, tmp_path / "smoke", {"cpu_good": behave("", 0), "gpu_none": behave("no GPU\n", 77)})
    lines = describe_report(report).splitlines()
    assert lines[0] == f"tiny: smoke of {image.digest} in fake"
    assert "cpu_good" in lines[1]
    assert lines[2].endswith("gpu_none  no GPU")
    assert lines[3] == "  1 passed, 0 failed, 1 unavailable"
