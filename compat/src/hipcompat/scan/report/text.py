"""Report → text: each finding with its line, then the verdicts; and the summary that goes into an issue."""

from __future__ import annotations

from collections.abc import Iterable

from hipcompat.console import printable, printable_lines, say_count
from hipcompat.scan.finding import VERDICTS, FileReport, Finding, Report, count_rules
from hipcompat.scan.rules import RULES

_ANSWERS = {"portable": "portable as is", "translate": "needs translation"}


def format_report(report: Report) -> str:
    """Everything, in the order of the files; advice and evidence stand with the first finding of a rule."""
    told: set[str] = set()
    lines: list[str] = []
    for finding in report.findings:
        lines += _describe(finding, told)
    if lines:
        lines.append("")
    lines += [f"{printable(file.path)}: {describe_file(file)}" for file in report.files]
    lines += [f"{printable(skipped.path)}: not read ({skipped.reason})" for skipped in report.skipped]
    if report.unread:
        lines.append(describe_unread(report))
    return "\n".join((*lines, describe_tree(report)))


def _describe(finding: Finding, told: set[str]) -> list[str]:
    rule = RULES[finding.rule]
    detail = f" [{printable(finding.detail)}]" if finding.detail else ""
    unsure = "" if finding.is_certain else " (under a macro that may be undefined)"
    lines = [f"{printable(finding.place)}: {finding.severity} {finding.rule}: {rule.title}{detail}{unsure}"]
    if finding.excerpt:
        lines += [f"    {printable_lines(finding.excerpt)}", f"    {_underline(finding)}"]
    if finding.rule not in told:
        told.add(finding.rule)
        lines += [f"    do: {rule.advice}", f"    see: {rule.evidence}"]
    return lines


def _underline(finding: Finding) -> str:
    """Below the excerpt as it is printed: what a terminal must not obey takes more columns there."""
    start, end = finding.column - 1, min(finding.end_column - 1, len(finding.excerpt))
    blank = "".join("\t" if character == "\t" else " " for character in printable_lines(finding.excerpt[:start]))
    return blank + "^" * max(1, len(printable_lines(finding.excerpt[start:end])))


def describe_file(file: FileReport) -> str:
    """needs work at 3 places; blocked by 2; ..."""
    if file.verdict in _ANSWERS:
        return _ANSWERS[file.verdict]
    parts = []
    if _count((file,), "warning")[0]:
        parts.append(f"needs work at {_say_places((file,))}")
    if _count((file,), "error")[0]:
        parts.append(f"blocked by {_say_errors((file,))}")
    if file.blocked_through:
        more = f" and {len(file.blocked_through) - 1} more" if len(file.blocked_through) > 1 else ""
        parts.append(f"blocked through {printable(file.blocked_through[0])}{more}")
    return ", ".join(parts) or "needs work in what it includes"


def describe_tree(report: Report) -> str:
    """The last line: the verdict of all."""
    work = f"needs work at {_say_places(report.files)}"
    verdict = {
        "portable": "portable as is", "translate": "needs translation",
        "work": work, "blocked": f"{work}, blocked by {_say_errors(report.files)}",
    }[report.verdict]  # fmt: skip
    if not report.scanned:
        verdict = "no verdict"
    archs, rocm = ",".join(report.target.archs), ".".join(map(str, report.target.rocm))
    known = f", {say_count(report.suppressed, 'known finding')} not told" if report.suppressed else ""
    return f"{verdict}: {say_count(report.scanned, 'file')} read for {archs} and ROCm {rocm}{known}"


def describe_unread(report: Report) -> str:
    """not read: 3 files of other kinds (.rs 2, .bzl 1)."""
    kinds = ", ".join(f"{ending} {count}" for ending, count in report.unread.items())
    return f"not read: {say_count(sum(report.unread.values()), 'file')} of other kinds ({printable(kinds)})"


def _say_places(files: Iterable[FileReport]) -> str:
    count, known = _count(files, "warning")
    return say_count(count, "place") + _say_known(known)


def _say_errors(files: Iterable[FileReport]) -> str:
    count, known = _count(files, "error")
    return f"{count}{_say_known(known)}"


def _say_known(count: int) -> str:
    return f" (of them {count} in the baseline)" if count else ""


def _count(files: Iterable[FileReport], severity: str) -> tuple[int, int]:
    """Places of a severity, and how many of them the baseline holds."""
    told = known = 0
    for file in files:
        told += sum(finding.severity == severity for finding in file.findings)
        known += file.known.get(severity, 0)
    return told + known, known


def format_summary(report: Report) -> str:
    """Markdown for an issue: the verdict, files by verdict, and each rule with its count and first place."""
    lines = [f"**hipcompat scan:** {describe_tree(report)}", "", "| files | verdict |", "| --- | --- |"]
    by_verdict = {verdict: sum(file.verdict == verdict for file in report.files) for verdict in reversed(VERDICTS)}
    lines += [f"| {count} | {verdict} |" for verdict, count in by_verdict.items() if count]
    if report.unread:
        lines += ["", describe_unread(report)]
    counts = count_rules(report.findings)
    if counts:
        lines += ["", "| rule | severity | places | first | what to do |", "| --- | --- | --- | --- | --- |"]
    for rule, count in counts.items():
        first = next(finding for finding in report.findings if finding.rule == rule)
        place = printable(first.place)
        lines.append(f"| {rule} | {RULES[rule].severity} | {count} | {place} | {RULES[rule].advice} |")
    return "\n".join(lines)


def format_rules() -> str:
    """The table of rules for docs/compat-rules.md."""
    lines = []
    for rule in RULES.values():
        archs = ", ".join(f"{arch}\\*" if len(arch) < 6 else arch for arch in rule.archs) or "all"
        until = f"before {'.'.join(map(str, rule.fixed_in))}" if rule.fixed_in else "all"
        example = rule.example.encode("unicode_escape").decode() if "\x7f" in rule.example else rule.example
        lines += [
            f"## {rule.id}", "", f"{rule.title[0].upper()}{rule.title[1:]}.", "",
            f"{rule.severity}; GPUs: {archs}; ROCm: {until}; in: {rule.language}",
            "", f"Do: {rule.advice}.  ", f"See: <{rule.evidence}>", "", "```", example, "```", "",
        ]  # fmt: skip
    return "\n".join(lines)
