"""What the audits return: Finding, AuditReport."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

Severity = Literal["error", "warning", "note", "expected"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
Family = Literal["identity", "elf", "archs", "kernels", "leaks", "size"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a person should know, at one path. `severity` is the rule's, or expected."""

    rule: str
    severity: Severity
    path: str
    """Inside the image, with a leading slash; "" for the image's own settings."""
    evidence: str
    remedy: str
    reason: str = ""
    """Why it was expected, in the words of matrix.toml or the recipe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """Everything found in one tree. Two ways to the same tree give the same findings."""

    subject: str
    """What was looked at: a target's id, a path, or an image's name."""
    archs: tuple[str, ...]
    """The GPUs that the image promises code for."""
    findings: tuple[Finding, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    """How much was looked at: files, elf, device-code, wheels."""

    def at_least(self, severity: Severity) -> tuple[Finding, ...]:
        """Findings as severe as that or more; expected ones never count."""
        if severity == "expected":
            return self.findings
        wanted = SEVERITIES[: SEVERITIES.index(severity) + 1]
        return tuple(finding for finding in self.findings if finding.severity in wanted)


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The most severe first, then by rule and path; each once."""
    unique = dict.fromkeys(findings)
    return tuple(sorted(unique, key=lambda one: (SEVERITIES.index(one.severity), one.rule, one.path, one.evidence)))
