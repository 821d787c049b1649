"""Hits of a file → findings with line, column and excerpt; a file's verdict; the whole report."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from hipcompat.scan.rule import Severity, Target

Verdict = Literal["portable", "translate", "work", "blocked"]
VERDICTS: tuple[Verdict, ...] = ("portable", "translate", "work", "blocked")
"""From good to bad."""
_TRANSLATED = frozenset(("mask-literal", "warp-call"))
"""Notes on what translation rewrites."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Which cell of a notebook, in nbformat's terms, and where the notebook's file, which is JSON, has the place."""

    number: int
    """Its place among the notebook's `cells`, from 1; cells of every cell_type count."""
    id: str
    """nbformat 4.5's id; empty where the cell has none."""
    file_line: int
    file_column: int
    file_end_column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One place. `path` is as the caller named it; line and columns count from 1, in a notebook in its cell."""

    path: str
    line: int
    column: int
    end_column: int
    rule: str
    severity: Severity
    detail: str
    excerpt: str
    is_certain: bool = True
    """False under a macro of which this file does not say whether it is defined."""
    cell: Cell | None = None
    """Of a notebook; None for every other file."""

    @property
    def place(self) -> str:
        """path:line:column, or path:cell N:line:column."""
        cell = f"cell {self.cell.number}:" if self.cell else ""
        return f"{self.path}:{cell}{self.line}:{self.column}"

    @property
    def fingerprint(self) -> str:
        """The same for the same text at another line of the same file."""
        text = "\0".join((self.path, self.rule, self.detail, " ".join(self.excerpt.split())))
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:20]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """What was found in one file. `renamed` counts the places that translation renames."""

    path: str
    language: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    renamed: int
    known: Mapping[str, int] = field(default_factory=dict)
    """Findings that the baseline holds, by severity: they are not told, and count in the verdict."""
    blocked_through: tuple[str, ...] = ()
    """Included files, among those scanned, that are blocked."""
    toolkit: tuple[str, ...] = ()
    """CUDA's headers that it includes."""
    errors_with: tuple[str, ...] = ()
    """CUDA's headers together with which it does not build: it asks for their include guards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file or folder that was not read, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Files in the order of their paths; those without any finding and without CUDA are counted only."""

    target: Target
    files: tuple[FileReport, ...]
    skipped: tuple[Skipped, ...]
    scanned: int
    scanned_bytes: int
    suppressed: int
    unread: Mapping[str, int] = field(default_factory=dict)
    """Files of kinds that scan does not read and that may ask for CUDA, by ending."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Of all files, in order."""
        return tuple(finding for file in self.files for finding in file.findings)

    @property
    def verdict(self) -> Verdict:
        """The worst of any file."""
        return max((file.verdict for file in self.files), key=VERDICTS.index, default="portable")


def judge_file(findings: Iterable[Finding], renamed: int) -> Verdict:
    """blocked by an error, work by a warning, translate where names change, else portable."""
    severities = {finding.severity for finding in findings}
    if "error" in severities:
        return "blocked"
    if "warning" in severities:
        return "work"
    return "translate" if renamed or any(finding.rule in _TRANSLATED for finding in findings) else "portable"


def is_notable(file: FileReport) -> bool:
    """Something is to be said of it."""
    return bool(file.findings or file.known or file.renamed or file.blocked_through)


def count_rules(findings: Iterable[Finding]) -> Mapping[str, int]:
    """Rule → places, the most frequent first."""
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.rule] = counts.get(finding.rule, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
