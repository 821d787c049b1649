"""Files and a target → Report. One file never stops the scan of the others."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hipcompat.scan.closure import Included, follow_includes, note_unresolved
from hipcompat.scan.detect.build import find_build_hits, is_build_file
from hipcompat.scan.detect.cuda import find_hits
from hipcompat.scan.detect.notebook import find_notebook_hits, is_notebook
from hipcompat.scan.detect.ptx import find_ptx_file_hits
from hipcompat.scan.detect.python import find_cython_hits, find_python_hits
from hipcompat.scan.detect.unit import Unit, make_unit
from hipcompat.scan.finding import FileReport, Finding, Report, Skipped, is_notable, judge_file
from hipcompat.scan.guards import TOOLKIT, find_guarding_headers
from hipcompat.scan.kinds import may_have_hits
from hipcompat.scan.regions import is_inside
from hipcompat.scan.rule import Hit, Severity, Target
from hipcompat.scan.rules import RULES
from hipcompat.scan.suppress import read_marks
from hipcompat.scan.text import Text, is_binary, read_text
from hipcompat.scan.tree import Candidate, find_files

LARGEST_BYTES = 32 * 1024 * 1024
"""Larger files are not source that a person wrote; they are named as skipped."""
_IN_STRINGS = {"mask-literal": "mask-string"}
"""Notes on what translation rewrites → what it is where nothing translates: kernels in strings of Python."""
_EXCERPT_CHARACTERS = 200
_INCLUDED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*([<"])([^">\n]+)[">]', re.MULTILINE)
_BINARY_WORDS = (b"libcudart.so", b"libcuda.so.1", b"libcublas.so", b"libcudnn.so", b"libnvrtc.so", b".nv_fatbin")
_CUBIN = b"\xbe\x00"
"""ELF's e_machine of NVIDIA's GPUs, 190, at byte 18; LLVM's ELF.h."""
_FATBIN = b"\x50\xed\x55\xba"
"""How a fat binary of nvcc's begins: 0xba55ed50."""

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """One file with what later stages need of it: the includes."""

    report: FileReport
    includes: tuple[Included, ...]
    suppressed: int


def scan(
    paths: Iterable[Path], target: Target, *, baseline: Counter[str] | None = None, progress: Progress | None = None,
    left_out: Path | None = None,
) -> Report:  # fmt: skip
    """All files below the paths. `baseline` holds fingerprints that are not told again; it is not changed.

    `left_out` is a folder that is not entered.
    """
    known = Counter(baseline or {})
    scanned: list[Scanned] = []
    skipped: list[Skipped] = []
    others: Counter[str] = Counter()
    files = find_files(paths, lambda error: skipped.append(_skip_folder(error)), left_out=left_out, others=others)
    for file in files:
        result = scan_file(file, target)
        if isinstance(result, Skipped):
            skipped.append(result)
        else:
            scanned.append(_drop_known(result, known))
        if progress:
            progress(file.size_bytes)
    reports = follow_includes(
        tuple(item.report for item in scanned), {item.report.path: item.includes for item in scanned}
    )
    reports = note_unresolved(reports, {item.report.path: item.includes for item in scanned})
    return Report(
        target=target,
        files=tuple(report for report in reports if is_notable(report)),
        skipped=tuple(skipped),
        unread=dict(sorted(others.items())),
        scanned=len(scanned),
        scanned_bytes=sum(file.size_bytes for file in files),
        suppressed=sum(item.suppressed for item in scanned),
    )


def _skip_folder(error: OSError) -> Skipped:
    return Skipped(path=str(error.filename), reason=error.strerror or "unreadable")


def scan_file(file: Candidate, target: Target) -> Scanned | Skipped:
    """One file, as it is on disk now."""
    if file.size_bytes > LARGEST_BYTES:
        return Skipped(path=file.path, reason=f"larger than {LARGEST_BYTES // 1024 // 1024} MB")
    try:
        content = Path(file.path).read_bytes()
    except OSError as error:
        return Skipped(path=file.path, reason=error.strerror or "unreadable")
    return scan_bytes(content, file, target)


def scan_bytes(content: bytes, file: Candidate, target: Target) -> Scanned | Skipped:
    """The same for content that is at hand."""
    if file.language == "binary":
        return _scan_binary(content, file)
    if is_binary(content):
        return Skipped(path=file.path, reason="binary")
    if not may_have_hits(content, file.language):
        return _nothing(file, content)
    text = read_text(content)
    if file.language == "cuda":
        unit = make_unit(text.raw)
        hits, renamed = find_hits(unit)
        scanned = _finish(file, text, _place_hits(hits, unit), renamed, target, _list_includes(unit, text))
        return _add_toolkit(scanned, unit, hits, target)
    try:
        found, renamed = _find_hits(text.raw, file.language)
    except ValueError as error:
        return Skipped(path=file.path, reason=str(error))
    told = [(dataclasses.replace(hit, rule=_IN_STRINGS.get(hit.rule, hit.rule)), True) for hit in found]
    return _finish(file, text, told, renamed, target, ())


def _find_hits(raw: str, language: str) -> tuple[tuple[Hit, ...], Counter[str]]:
    """Of a file that is not C++. Raises ValueError where it is not what its name says."""
    if is_build_file(language):
        return find_build_hits(raw, language), Counter()
    if language == "ptx":
        return tuple(find_ptx_file_hits(raw)), Counter()
    if language == "notebook":
        return find_notebook_hits(raw)
    if language == "cython":
        return find_cython_hits(raw)
    return find_python_hits(raw, is_setup=language == "setup")


def _place_hits(hits: Iterable[Hit], unit: Unit) -> list[tuple[Hit, bool]]:
    """Offsets of the spliced text → of the file, and whether the place is certainly compiled."""
    return [
        (
            dataclasses.replace(hit, start=unit.code.origin(hit.start), end=unit.code.origin(hit.end)),
            not is_inside(unit.unknown, hit.start),
        )
        for hit in hits
    ]


def _add_toolkit(scanned: Scanned, unit: Unit, hits: Iterable[Hit], target: Target) -> Scanned:
    told = [hit for hit in hits if target.concerns(RULES[hit.rule], hit.archs)]
    errors = [hit for hit in told if RULES[hit.rule].severity == "error"]
    report = dataclasses.replace(
        scanned.report,
        toolkit=tuple(sorted({include.name for include in unit.includes if include.name in TOOLKIT})),
        errors_with=find_guarding_headers(unit.branches, [hit.start for hit in errors]),
    )
    return dataclasses.replace(scanned, report=report)


def _list_includes(unit: Unit, text: Text) -> tuple[Included, ...]:
    found = []
    for include in unit.includes:
        if not is_inside(unit.unknown, include.start):
            line, column = text.find_position(unit.code.origin(include.start))
            found.append(Included(name=include.name, is_quoted=include.is_quoted, line=line, column=column))
    return tuple(found)


def _finish(
    file: Candidate, text: Text, hits: list[tuple[Hit, bool]], renamed: Counter[str], target: Target,
    includes: tuple[Included, ...],
) -> Scanned:  # fmt: skip
    marks = read_marks(text)
    hits += [(Hit(rule="unknown-mark", start=start, end=end, detail=name), True) for name, start, end in marks.named
             if name not in RULES]  # fmt: skip
    found = [
        _make_finding(file.path, text, hit, is_certain=certain)
        for hit, certain in hits
        if target.concerns(RULES[hit.rule], hit.archs)
    ]
    told = tuple(finding for finding in found if not marks.silence(finding))
    count = renamed.total()
    report = FileReport(
        path=file.path, language=file.language, verdict=judge_file(told, count), findings=told, renamed=count
    )
    return Scanned(report=report, includes=includes, suppressed=len(found) - len(told))


def _make_finding(path: str, text: Text, hit: Hit, *, is_certain: bool) -> Finding:
    line, column = text.find_position(hit.start)
    end_line, end_column = text.find_position(hit.end)
    severity: Severity = RULES[hit.rule].severity
    excerpt = text.line_at(hit.start)
    return Finding(
        path=path, line=line, column=column, end_column=end_column if end_line == line else len(excerpt) + 1,
        rule=hit.rule, severity="warning" if severity == "error" and not is_certain else severity,
        detail=hit.detail, excerpt=excerpt[:_EXCERPT_CHARACTERS], is_certain=is_certain,
    )  # fmt: skip


def _scan_binary(content: bytes, file: Candidate) -> Scanned:
    is_elf = content.startswith(b"\x7fELF")
    names = [word.decode() for word in _BINARY_WORDS if word in content] if is_elf else []
    if content.startswith(_FATBIN) or (is_elf and content[18:20] == _CUBIN):
        names.append("code for NVIDIA's GPUs")
    findings = tuple(
        Finding(
            path=file.path,
            line=1,
            column=1,
            end_column=1,
            rule="cuda-binary",
            severity="error",
            detail=name,
            excerpt="",
        )
        for name in names
    )
    report = FileReport(
        path=file.path, language=file.language, verdict=judge_file(findings, 0), findings=findings, renamed=0
    )
    return Scanned(report=report, includes=(), suppressed=0)


def _nothing(file: Candidate, content: bytes) -> Scanned | Skipped:
    """No finding of its own; what it includes may have some. What is no notebook is not read."""
    if file.language == "notebook" and content.strip() and not is_notebook(content):
        return Skipped(path=file.path, reason="no notebook")
    report = FileReport(path=file.path, language=file.language, verdict="portable", findings=(), renamed=0)
    includes = tuple(_read_includes(content)) if file.language == "cuda" else ()
    return Scanned(report=report, includes=includes, suppressed=0)


def _read_includes(content: bytes) -> Iterator[Included]:
    """By pattern: where a file has no word of CUDA, nothing asks what its #if mean."""
    line, at = 1, 0
    for match in _INCLUDED.finditer(content):
        line += content.count(b"\n", at, match.start(2))
        at = match.start(2)
        column = at - content.rfind(b"\n", 0, at)
        name = match[2].decode("utf-8", "replace")
        yield Included(name=name, is_quoted=match[1] == b'"', line=line, column=column)


def _drop_known(item: Scanned, known: Counter[str]) -> Scanned:
    """What is known is not told; the verdict stays what it is."""
    if not known:
        return item
    told: list[Finding] = []
    hidden: Counter[str] = Counter()
    for finding in item.report.findings:
        if known[finding.fingerprint] > 0:
            known[finding.fingerprint] -= 1
            hidden[finding.severity] += 1
        else:
            told.append(finding)
    report = dataclasses.replace(item.report, findings=tuple(told), known=dict(sorted(hidden.items())))
    return dataclasses.replace(item, report=report, suppressed=item.suppressed + hidden.total())
