"""SmokeReport → an in-toto predicate, and back: TierResults, what somebody found on one node.

https://github.com/in-toto/attestation/blob/main/spec/predicates/test-result.md; what that format has no place for
stands under one key of our own, as its parsing rules allow.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rockiln.archs import name_arch
from rockiln.checks import TIERS, Check
from rockiln.shape_faults import name_shape_fault
from rockiln.smoke import CheckResult, Failed, Passed, SmokeReport, Unavailable

PREDICATE_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
OWN_KEY = "dev.rockiln.smoke"
KFD_NODES = Path("/sys/class/kfd/kfd/topology/nodes")
Status = Literal["passed", "failed", "unavailable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TierResult:
    """How one tier went on one node."""

    tier: str
    status: Status
    reason: str
    """Why it failed, or could not run."""
    passed: tuple[str, ...]
    """Names of the checks that passed."""
    archs: tuple[str, ...]
    """GPUs of the node, as LLVM calls them."""
    finished: str
    """ISO 8601, UTC."""
    is_signed: bool


def make_predicate(
    report: SmokeReport, checks: Sequence[Check], archs: Sequence[str], finished_s: float
) -> dict[str, object]:  # fmt: skip
    """What one run of `rockiln smoke` found; logs stay on the node."""
    finished = dt.datetime.fromtimestamp(finished_s, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    tiers = {tier: [item for item in report.checks if item.tier == tier] for tier in TIERS}
    failed = any(isinstance(item.outcome, Failed) for item in report.checks)
    lacking = any(isinstance(item.outcome, Unavailable) for item in report.checks)
    return {
        "result": "FAILED" if failed else "WARNED" if lacking else "PASSED",
        "configuration": [{"name": "rockiln smoke", "digest": {"sha256": hash_checks(checks)}}],
        "passedTests": _name_tests(report.checks, "passed"),
        "warnedTests": _name_tests(report.checks, "unavailable"),
        "failedTests": _name_tests(report.checks, "failed"),
        OWN_KEY: {
            "target": report.target_id,
            "engine": report.engine,
            "archs": sorted(set(archs)),
            "finished": finished,
            "tiers": {tier: _sum_up(found) for tier, found in tiers.items() if found},
        },
    }


def _name_tests(checks: Iterable[CheckResult], status: str) -> list[str]:
    return sorted(f"{item.tier}/{item.name}" for item in checks if item.outcome.status == status)


def _sum_up(checks: Sequence[CheckResult]) -> dict[str, object]:
    """One check that failed makes the tier fail; one that could not run leaves it unproven."""
    for status in ("failed", "unavailable"):
        for item in checks:
            if item.outcome.status == status and not isinstance(item.outcome, Passed):
                return {"status": status, "reason": item.outcome.reason, "seconds": _sum_seconds(checks)}
    return {"status": "passed", "reason": "", "seconds": _sum_seconds(checks)}


def _sum_seconds(checks: Sequence[CheckResult]) -> float:
    return round(sum(item.duration_s for item in checks), 1)


def hash_checks(checks: Sequence[Check]) -> str:
    """One hash over the programs that were run: same value, same checks."""
    digests = (f"{check.tier}/{check.name} {hashlib.sha256(check.path.read_bytes()).hexdigest()}" for check in checks)
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()


def read_results(predicate: Mapping[str, Any], *, is_signed: bool) -> tuple[TierResult, ...]:
    """Raises ValueError for a predicate that `make_predicate` did not make."""
    try:
        own = predicate[OWN_KEY]
        names = [str(name).partition("/") for name in predicate["passedTests"]]
        return tuple(
            TierResult(
                tier=str(tier), status=_require_status(found["status"]), reason=str(found["reason"]),
                passed=tuple(name for its_tier, _, name in names if its_tier == tier),
                archs=tuple(map(str, own["archs"])), finished=str(own["finished"]), is_signed=is_signed,
            )
            for tier, found in own["tiers"].items()
        )  # fmt: skip
    except (KeyError, TypeError, AttributeError) as fault:
        raise ValueError(f"not a result of rockiln smoke: {name_shape_fault(fault)}") from fault


def _require_status(value: object) -> Status:
    if value not in {"passed", "failed", "unavailable"}:
        raise ValueError(f"a tier is {value!r}")
    return value


def find_archs(nodes_path: Path = KFD_NODES) -> tuple[str, ...]:
    """GPUs that this machine's kernel knows: "gfx942" from `gfx_target_version 90402`; nothing where there are none."""
    found = set()
    for path in nodes_path.glob("*/properties"):
        rows = dict(line.split(maxsplit=1) for line in path.read_text().splitlines() if " " in line)
        number = int(rows.get("gfx_target_version", "0"))
        if number:
            found.add(name_arch(number))
    return tuple(sorted(found))
