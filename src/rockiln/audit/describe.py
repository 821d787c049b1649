"""AuditReport → text for people: rule by rule, the most severe first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rockiln.audit.finding import SEVERITIES, AuditReport, Finding
from rockiln.audit.rules import RULES
from rockiln.console import printable

_SHOWN = 10
"""Findings of one rule that are listed; --json has all."""


def describe_report(report: AuditReport) -> str:
    """What was looked at, every finding with its evidence and remedy, and the sum."""
    return "\n".join((_describe_subject(report), *_describe_rules(report.findings), _describe_sum(report)))


def _describe_subject(report: AuditReport) -> str:
    archs = f" for {', '.join(report.archs)}" if report.archs else ""
    counts = report.counts
    return (
        f"{printable(report.subject)}{archs}: {counts.get('paths', 0)} paths,"
        f" {counts.get('elf', 0)} programs and libraries,"
        f" {counts.get('device_code', 0)} files with GPU code, {counts.get('distributions', 0)} Python distributions"
    )


def _describe_rules(findings: Sequence[Finding]) -> Iterator[str]:
    for (severity, rule), group in groupby(findings, key=lambda one: (one.severity, one.rule)):
        found = tuple(group)
        yield ""
        yield f"  {severity}  {rule}: {RULES[rule].meaning}"
        width = max(len(_place(one)) for one in found[:_SHOWN])
        for one in found[:_SHOWN]:
            reason = f" ({one.reason})" if one.reason else ""
            yield f"    {_place(one).ljust(min(width, 60))}  {printable(one.evidence + reason)}"
        if len(found) > _SHOWN:
            yield f"    and {len(found) - _SHOWN} more"
        if severity != "expected":
            yield f"    → {found[0].remedy}"


def _place(finding: Finding) -> str:
    return printable(finding.path) or "image settings"


def _describe_sum(report: AuditReport) -> str:
    sums = [(severity, sum(one.severity == severity for one in report.findings)) for severity in SEVERITIES]
    said = ", ".join(f"{number} {_plural(severity, number)}" for severity, number in sums if number)
    return f"\n  {said}" if said else "  nothing found"


def _plural(severity: str, number: int) -> str:
    return severity if number == 1 or severity == "expected" else f"{severity}s"
