"""hipcompat scan: paths → findings and a verdict, as text, JSON, SARIF or a summary; exit 3 by --fail-on."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter

from hipcompat.answer import Answer, dump
from hipcompat.archs import ARCH_HELP, read_archs
from hipcompat.console import quote
from hipcompat.errors import FileError, FindingsError, UsageError
from hipcompat.paths import make_path
from hipcompat.scan import RULES, Finding, Report, Target, scan
from hipcompat.scan.report.sarif import format_sarif
from hipcompat.scan.report.text import describe_tree, format_report, format_summary
from hipcompat.scan.rule import SEVERITIES
from hipcompat.scan.suppress import read_baseline, write_baseline

_FORMATS = ("text", "json", "sarif", "summary")
_QUIET_S = 2.0
_EVERY_S = 10.0
_MOST_NAMED = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """PATH..., --arch, --rocm, --format, --json, --fail-on, --baseline, --write-baseline."""
    parser.add_argument("paths", nargs="+", type=make_path, metavar="PATH", help="files and folders")
    parser.add_argument("--arch", action="append", default=[], metavar="GFX", help=ARCH_HELP)
    parser.add_argument("--rocm", default="7.0.2", metavar="VERSION", help="7.0 or newer; default: 7.0.2")
    parser.add_argument("--format", choices=_FORMATS, default="text", help="default: text")
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="the same as --format json")
    parser.add_argument(
        "--fail-on",
        choices=(*SEVERITIES, "never"),
        default="error",
        help="exit 3 from this severity on; default: error",
    )
    parser.add_argument("--baseline", type=make_path, metavar="FILE", help="findings in it are not told")
    written = "write the findings, to be known next time"
    parser.add_argument("--write-baseline", type=make_path, metavar="FILE", help=written)


def answer(args: argparse.Namespace) -> Answer:
    """Scan, write the baseline if asked, and print. Raises FileError where nothing was read.

    What is written holds all findings that there are now, those that --baseline knows as well, and no others.
    """
    target = Target(archs=read_archs(args.arch), rocm=_read_version(args.rocm))
    baseline = read_baseline(args.baseline) if args.baseline else Counter()
    known: list[Finding] = []
    report = scan(args.paths, target, baseline=baseline, progress=_Progress(), on_known=known.append)
    if not report.scanned:
        message = f"nothing was read: {_describe_skipped(report)}"
        raise FileError(message, hint="name source, or folders of it, that this user may read")
    if args.write_baseline:
        write_baseline((*known, *report.findings), args.write_baseline)
    return Answer(text=_format(report, args.format), value=report, fault=_find_fault(report, args.fail_on))


def _describe_skipped(report: Report) -> str:
    named = [f"{skipped.path} ({skipped.reason})" for skipped in report.skipped[:_MOST_NAMED]]
    more = len(report.skipped) - len(named)
    if not named:
        return "no regular file there is of a kind that scan knows"
    return ", ".join(named) + (f" and {more} more" if more else "")


def _format(report: Report, wanted: str) -> str:
    if wanted == "json":
        return dump({"verdict": report.verdict, "report": report})
    return {"text": format_report, "sarif": format_sarif, "summary": format_summary}[wanted](report)


def _find_fault(report: Report, fail_on: str) -> FindingsError | None:
    if fail_on == "never":
        return None
    severities = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    if any(finding.severity in severities for finding in report.findings):
        return FindingsError(describe_tree(report), hint="--fail-on never, or a baseline, if that is known")
    return None


def _read_version(text: str) -> tuple[int, ...]:
    """ROCm 7, whose releases the rules tell apart. Raises UsageError for another."""
    newest = max(rule.fixed_in for rule in RULES.values())
    known = f"ROCm 7 from 7.0 to {'.'.join(map(str, newest))}, such as 7.0.2 (the default) and 7.2.4"
    if not re.fullmatch(r"\d{1,4}(?:\.\d{1,4}){0,2}", text):
        raise UsageError(f"{quote(text)} is no version of ROCm", hint=f"--rocm takes {known}")
    version = tuple(map(int, text.split(".")))
    version = (*version, 0) if len(version) == 1 else version
    if not (7, 0) <= version[:2] <= newest[:2]:
        raise UsageError(f"of ROCm {text} scan knows nothing", hint=f"--rocm takes {known}")
    return version


class _Progress:
    """A line on stderr every ten seconds, none before two."""

    def __init__(self) -> None:
        self._bytes = self._files = 0
        self._next_s = time.monotonic() + _QUIET_S

    def __call__(self, size_bytes: int) -> None:
        self._bytes += size_bytes
        self._files += 1
        if time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + _EVERY_S
            sys.stderr.write(f"scan: {self._files} files, {self._bytes / 1e6:.1f} MB\n")
