"""Image + Recipe + Engine → SmokeReport: each check Passed, Failed or Unavailable. What did not run is never green."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rockiln import run_check
from rockiln.checks import TIERS, Check, find_checks
from rockiln.console import Console
from rockiln.engines.protocol import Command, Completed, Engine, Loaded, Mount
from rockiln.errors import EngineError, RockilnError, SmokeFailedError, UnavailableError
from rockiln.image import Image
from rockiln.recipe import Recipe

__all__ = [
    "CheckResult", "Failed", "Passed", "SmokeReport", "Unavailable", "describe_report", "find_checks", "find_fault",
    "run_smoke", "to_junit",
]  # fmt: skip

MOUNTED = "/run/rockiln/smoke"
"""Where runner and checks stand in the image while they run."""
UNAVAILABLE_CODE = 77
"""How a check says that the machine lacks what it needs; its last line says what (autotools' convention)."""
LOG_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    log: str
    status: Literal["passed"] = "passed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    reason: str
    log: str
    status: Literal["failed"] = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    reason: str
    log: str = ""
    status: Literal["unavailable"] = "unavailable"


Outcome = Passed | Failed | Unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """How one check ended."""

    name: str
    tier: str
    outcome: Outcome
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SmokeReport:
    """How all checks of one image ended, in order."""

    target_id: str
    image_digest: str
    reference: str
    engine: str
    required_tiers: tuple[str, ...]
    """Tiers in which Unavailable is not good enough: the recipe's, and those that were asked for by name."""
    checks: tuple[CheckResult, ...]


def run_smoke(
    image: Image, recipe: Recipe, engine: Engine, tiers: Sequence[str], jobs: int, console: Console, *,
    is_kept: bool = True,
) -> SmokeReport:  # fmt: skip
    """Run the checks of `tiers` (none given: all that the recipe has), `jobs` at a time. Raises EngineError.

    Unless `is_kept`, the engine loses the image's name again, whatever came of it.
    """
    wanted = tuple(tier for tier in TIERS if tier in (tiers or recipe.smoke_tiers))
    checks = [check for check in find_checks(recipe) if check.tier in wanted]
    loaded = engine.load(image)
    with (
        _unloaded(engine, loaded, console, is_kept=is_kept),
        console.progress(f"smoke {image.target_id}", len(checks), "checks") as progress,
        ThreadPoolExecutor(max(jobs, 1)) as pool,
    ):

        def run(check: Check) -> CheckResult:
            result = _run_one(check, loaded, recipe, engine)
            progress.advance(1)
            return result

        results = list(pool.map(run, checks))
    missing = [tier for tier in wanted if tier not in {check.tier for check in checks}]
    return SmokeReport(
        target_id=image.target_id,
        image_digest=image.digest,
        reference=image.reference,
        engine=engine.name,
        required_tiers=tuple(tier for tier in TIERS if tier in tiers or tier in recipe.required_tiers),
        checks=(*results, *(_report_empty_tier(tier, recipe) for tier in missing)),
    )


@contextmanager
def _unloaded(engine: Engine, loaded: Loaded, console: Console, *, is_kept: bool) -> Iterator[None]:
    """At the end of the block; that the engine does not let go of it says nothing about the image."""
    try:
        yield
    finally:
        if not is_kept:
            try:
                engine.unload(loaded)
            except EngineError as fault:
                console.warn(f"{loaded.image.reference} stays in {engine.name}: {fault.message}")


def _report_empty_tier(tier: str, recipe: Recipe) -> CheckResult:
    reason = f"images/{recipe.name}/smoke has no check of the tier {tier}"
    return CheckResult(name="(none)", tier=tier, outcome=Unavailable(reason=reason), duration_s=0)


def _run_one(check: Check, loaded: Loaded, recipe: Recipe, engine: Engine) -> CheckResult:
    try:
        completed = engine.run(loaded, _make_command(check, recipe))
    except EngineError as error:
        outcome: Outcome = Failed(reason=error.message, log=error.hint)
        return CheckResult(name=check.name, tier=check.tier, outcome=outcome, duration_s=0)
    outcome = judge(check, completed)
    return CheckResult(name=check.name, tier=check.tier, outcome=outcome, duration_s=round(completed.duration_s, 3))


def _make_command(check: Check, recipe: Recipe) -> Command:
    """The image's own python, entrypoint and working folder; checks, data and runner are mounted read-only."""
    folders = {path: f"{MOUNTED}/{path.parent.name}" for path in recipe.smoke_paths or (recipe.smoke_path,)}
    runner = Path(run_check.__file__)
    mounts = [Mount(host_path=path, image_path=place) for path, place in folders.items() if path.is_dir()]
    data = [Mount(host_path=path, image_path=f"{MOUNTED}/data/{path.name}") for path in recipe.smoke_data]
    return Command(
        argv=(
            "python",
            f"{MOUNTED}/{runner.name}",
            f"{folders[check.path.parent]}/{check.path.name}",
            str(max(check.timeout_s * 0.8, check.timeout_s - 3)),
            *(mount.image_path for mount in mounts),
        ),
        timeout_s=check.timeout_s,
        mounts=(Mount(host_path=runner, image_path=f"{MOUNTED}/{runner.name}"), *mounts, *data),
        user=check.user,
        read_only_root=check.read_only_root,
        gpus=check.tier != "cpu",
    )


def judge(check: Check, completed: Completed) -> Outcome:
    """Exit 0 is Passed, 77 is Unavailable; anything else, and a time limit reached, is Failed."""
    log = _join_streams(completed)
    if completed.exit_code is None:
        reason = f"not done after {check.timeout_s:g} s; the stacks of all threads are in the log"
        return Failed(reason=reason, log=log)
    if completed.exit_code == 0:
        return Passed(log=log)
    if completed.exit_code == UNAVAILABLE_CODE:
        return Unavailable(reason=_last_line(completed.stdout) or "the check did not say why", log=log)
    cause = _last_line(completed.stderr) or _last_line(completed.stdout) or "no output"
    return Failed(reason=f"exit code {completed.exit_code}: {cause}", log=log)


def _join_streams(completed: Completed) -> str:
    """Both streams, the end of each if they are long."""
    named = (("stdout", completed.stdout), ("stderr", completed.stderr))
    parts = [f"--- {name}\n{text[-LOG_CHARACTERS // 2 :].rstrip()}\n" for name, text in named if text.strip()]
    return "".join(parts)


def _last_line(text: str) -> str:
    return ([line.strip() for line in text.splitlines() if line.strip()] or [""])[-1]


def describe_report(report: SmokeReport) -> str:
    """A line a check, then one line that counts."""
    head = f"{report.target_id}: smoke of {report.image_digest} in {report.engine}"
    lines = [_describe_result(result) for result in report.checks]
    counts = Counter(result.outcome.status for result in report.checks)
    total = ", ".join(f"{counts[status]} {status}" for status in ("passed", "failed", "unavailable"))
    return "\n".join([head, *lines, f"  {total}"])


def _describe_result(result: CheckResult) -> str:
    outcome = result.outcome
    reason = "" if isinstance(outcome, Passed) else f"  {outcome.reason}"
    return f"  {outcome.status:<11}  {result.tier:<9}  {result.duration_s:6.1f} s  {result.name}{reason}"


def find_fault(report: SmokeReport, recipe: Recipe) -> RockilnError | None:
    """The error with which the command ends: a failed check, or a required tier of which something did not run."""
    shown = f"rockiln show {report.target_id} smoke"
    failed = [(item.name, item.outcome.reason) for item in report.checks if isinstance(item.outcome, Failed)]
    if failed:
        names = "\n".join(f"  {name}: {reason}" for name, reason in failed)
        return SmokeFailedError(f"{report.target_id}: {len(failed)} checks failed:\n{names}", hint=f"logs: {shown}")
    required = {*report.required_tiers, *recipe.required_tiers}
    absent = [item for item in report.checks if isinstance(item.outcome, Unavailable) and item.tier in required]
    reasons = {item.outcome.reason: item.tier for item in absent if isinstance(item.outcome, Unavailable)}
    if absent:
        text = "\n".join(f"  {tier}: {reason}" for reason, tier in reasons.items())
        return UnavailableError(f"{report.target_id}: required checks could not run:\n{text}", hint=f"logs: {shown}")
    return None


def to_junit(report: SmokeReport) -> str:
    """The report as JUnit XML: what CI systems show. Unavailable is `skipped`, with the reason."""
    seconds = sum(result.duration_s for result in report.checks)
    statuses = Counter(result.outcome.status for result in report.checks)
    counts = {"tests": len(report.checks), "failures": statuses["failed"], "skipped": statuses["unavailable"]}
    suite = ET.Element("testsuite", {"name": report.target_id, "time": f"{seconds:.3f}"})
    for key, count in counts.items():
        suite.set(key, str(count))
    properties = ET.SubElement(suite, "properties")
    for key, value in (("image", report.image_digest), ("reference", report.reference), ("engine", report.engine)):
        ET.SubElement(properties, "property", {"name": key, "value": value})
    for result in report.checks:
        _add_case(suite, report, result)
    ET.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suite, encoding="unicode") + "\n"


def _add_case(suite: ET.Element, report: SmokeReport, result: CheckResult) -> None:
    names = {"classname": f"{report.target_id}.{result.tier}", "name": result.name, "time": f"{result.duration_s:.3f}"}
    case = ET.SubElement(suite, "testcase", names)
    outcome = result.outcome
    if isinstance(outcome, Failed):
        ET.SubElement(case, "failure", {"message": _keep_printable(outcome.reason)}).text = _keep_printable(outcome.log)
    elif isinstance(outcome, Unavailable):
        ET.SubElement(case, "skipped", {"message": _keep_printable(outcome.reason)})
    else:
        ET.SubElement(case, "system-out").text = _keep_printable(outcome.log)


def _keep_printable(text: str) -> str:
    """Control characters may not stand in XML 1.0, not even escaped."""
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\x{ord(char):02x}" for char in text)
