"""Files and a target → Report. One file never stops the scan of the others."""

from __future__ import annotations

import dataclasses
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hipcompat.paths import AnyPath, AnyPaths, list_paths, make_path
from hipcompat.scan.closure import Included, follow_includes, is_regular, join_beside, note_unresolved
from hipcompat.scan.detect.build import find_build_hits, is_build_file
from hipcompat.scan.detect.cuda import find_hits
from hipcompat.scan.detect.notebook import CodeCell, find_cell_hits, is_notebook, read_cells
from hipcompat.scan.detect.ptx import find_ptx_file_hits
from hipcompat.scan.detect.python import find_cython_hits, find_python_hits
from hipcompat.scan.detect.requirements import REQUIRING, find_required
from hipcompat.scan.detect.unit import Unit, make_unit
from hipcompat.scan.finding import VERDICTS, Cell, FileReport, Finding, Report, Skipped, is_notable, judge_file
from hipcompat.scan.guards import TOOLKIT, find_guarding_headers
from hipcompat.scan.kinds import may_have_hits
from hipcompat.scan.regions import is_inside
from hipcompat.scan.rule import Hit, Severity, Target
from hipcompat.scan.rules import RULES
from hipcompat.scan.suppress import Marks, read_marks
from hipcompat.scan.text import Text, is_binary, read_text, show
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

_UNMARKED = Marks()

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """One file with what later stages need of it: the includes."""

    report: FileReport
    includes: tuple[Included, ...]
    suppressed: int
    marks: Marks = _UNMARKED


def scan(
    paths: AnyPaths, target: Target, *, baseline: Counter[str] | None = None, progress: Progress | None = None,
    left_out: AnyPath | None = None, on_known: Callable[[Finding], None] = lambda _: None,
) -> Report:  # fmt: skip
    """All files below the paths. `baseline` holds fingerprints that are not told again; it is not changed.

    `on_known` gets each finding that the baseline holds, and `progress` the size of each file.
    `left_out` is a folder that is not entered. Raises FileError for a path that is not there.
    """
    known = Counter(baseline or {})
    skipped: list[Skipped] = []
    others: Counter[str] = Counter()
    files = list(find_files(
        list_paths(paths), lambda error: skipped.append(skip_closed(error)),
        left_out=None if left_out is None else make_path(left_out), others=others,
    ))  # fmt: skip
    scanned = _scan_all(files, target, skipped, progress)
    includes = {item.report.path: item.includes for item in scanned}
    noted = note_unresolved(tuple(item.report for item in scanned), includes)
    scanned = [_drop_known(_take_notes(*pair), known, on_known) for pair in zip(scanned, noted, strict=True)]
    reports = follow_includes(tuple(item.report for item in scanned), includes)
    return Report(
        target=target,
        files=tuple(report for report in reports if is_notable(report)),
        skipped=tuple(sorted(skipped, key=lambda item: item.path)),
        unread=dict(sorted(others.items())),
        scanned=len(scanned),
        scanned_bytes=sum(file.size_bytes for file in files),
        suppressed=sum(item.suppressed for item in scanned),
    )


def _scan_all(
    files: list[Candidate], target: Target, skipped: list[Skipped], progress: Progress | None
) -> list[Scanned]:
    """By path. `files` grows by what files of requirements name, and `skipped` by what cannot be read."""
    scanned: list[Scanned] = []
    seen: set[str] = set()
    for file in files:
        result = scan_file(file, target)
        if isinstance(result, Skipped):
            skipped.append(result)
        else:
            scanned.append(result)
            files += _find_required(result, files, seen)
        if progress:
            progress(file.size_bytes)
    return sorted(scanned, key=lambda item: item.report.path)


def _find_required(scanned: Scanned, files: Iterable[Candidate], seen: set[str]) -> tuple[Candidate, ...]:
    """What pip reads as well, whatever it is called, each once: circles end. `seen` holds where all of them lie, from
    the first time on that somebody asks."""
    names = [item.name for item in scanned.includes if item.is_required]
    if names and not seen:
        seen |= {os.path.realpath(file.path) for file in files}
    found = []
    for path in (join_beside(scanned.report.path, name) for name in names):
        if is_regular(path) and (real := os.path.realpath(path)) not in seen:
            seen.add(real)
            found.append(Candidate(path=path, language="requirements", size_bytes=Path(path).stat().st_size))
    return tuple(found)


def _take_notes(item: Scanned, noted: FileReport) -> Scanned:
    """The report with what is to be said of its includes, but for what its marks silence."""
    told = item.marks.keep(noted.findings)
    verdict = max(noted.verdict, judge_file(told, noted.renamed), key=VERDICTS.index)
    report = dataclasses.replace(noted, findings=told, verdict=verdict)
    return dataclasses.replace(item, report=report, suppressed=item.suppressed + len(noted.findings) - len(told))


def skip_closed(error: OSError) -> Skipped:
    """A folder that cannot be listed, or no file."""
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
    if file.language == "notebook":
        return _scan_notebook(file, text, target)
    found, renamed = _find_hits(text.raw, file.language)
    return _finish(file, text, _tell_untranslated(found), renamed, target, _list_required(file, text))


def _tell_untranslated(hits: Iterable[Hit]) -> list[tuple[Hit, bool]]:
    """Of a file that is not C++."""
    return [(dataclasses.replace(hit, rule=_IN_STRINGS.get(hit.rule, hit.rule)), True) for hit in hits]


def _find_hits(raw: str, language: str) -> tuple[tuple[Hit, ...], Counter[str]]:
    """Of a file that is neither C++ nor a notebook."""
    if is_build_file(language):
        return find_build_hits(raw, language), Counter()
    if language == "ptx":
        return tuple(find_ptx_file_hits(raw)), Counter()
    if language == "cython":
        return find_cython_hits(raw)
    return find_python_hits(raw, is_setup=language == "setup")


def _scan_notebook(file: Candidate, text: Text, target: Target) -> Scanned | Skipped:
    """Each code cell by itself, but for what a mark silences in the whole file."""
    try:
        cells = read_cells(text.raw)
    except ValueError as error:
        return Skipped(path=file.path, reason=str(error))
    sources = [Text(cell.text) for cell in cells]
    marks = [read_marks(source) for source in sources]
    everywhere = frozenset[str]().union(*(mark.everywhere for mark in marks))
    told: list[Finding] = []
    renamed = silenced = 0
    for cell, source, mark in zip(cells, sources, marks, strict=True):
        hits, names = find_cell_hits(cell.text)
        find_cell = partial(_find_cell, text, cell)
        found = _make_findings(file.path, source, _tell_untranslated(hits), target, mark, find_cell)
        kept = dataclasses.replace(mark, everywhere=everywhere).keep(found)
        told += kept
        renamed += names.total()
        silenced += len(found) - len(kept)
    return _report(file, tuple(told), renamed, silenced)


def _find_cell(text: Text, cell: CodeCell, hit: Hit) -> Cell:
    """Where a notebook's file has what `hit` means in a cell."""
    line, column = text.find_position(cell.origin(hit.start))
    end_line, end_column = text.find_position(cell.origin(max(hit.start, hit.end - 1)))
    end = end_column + 1 if end_line == line else column
    return Cell(number=cell.number, id=cell.id, file_line=line, file_column=column, file_end_column=end)


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
            found.append(Included(name=show(include.name), is_quoted=include.is_quoted, line=line, column=column))
    return tuple(found)


def _list_required(file: Candidate, text: Text) -> tuple[Included, ...]:
    found = []
    for name, start in find_required(text.raw) if file.language in REQUIRING else ():
        line, column = text.find_position(start)
        excerpt = text.line_at(start)[:_EXCERPT_CHARACTERS]
        found.append(Included(name=show(name), is_quoted=True, line=line, column=column, excerpt=excerpt))
    return tuple(found)


def _finish(
    file: Candidate, text: Text, hits: list[tuple[Hit, bool]], renamed: Counter[str], target: Target,
    includes: tuple[Included, ...],
) -> Scanned:  # fmt: skip
    marks = read_marks(text)
    found = _make_findings(file.path, text, hits, target, marks)
    told = marks.keep(found)
    return _report(file, told, renamed.total(), len(found) - len(told), includes, marks)


def _report(
    file: Candidate, findings: tuple[Finding, ...], renamed: int = 0, suppressed: int = 0,
    includes: tuple[Included, ...] = (), marks: Marks = _UNMARKED,
) -> Scanned:  # fmt: skip
    verdict = judge_file(findings, renamed)
    report = FileReport(path=file.path, language=file.language, verdict=verdict, findings=findings, renamed=renamed)
    return Scanned(report=report, includes=includes, suppressed=suppressed, marks=marks)


def _make_findings(
    path: str, text: Text, hits: Iterable[tuple[Hit, bool]], target: Target, marks: Marks,
    find_cell: Callable[[Hit], Cell | None] = lambda _: None,
) -> tuple[Finding, ...]:  # fmt: skip
    """Of the hits that concern the target, and of names of rules in marks that there are not; silenced ones, too."""
    unknown = (Hit(rule="unknown-mark", start=start, end=end, detail=name) for name, start, end in marks.named
               if name not in RULES)  # fmt: skip
    return tuple(
        _make_finding(path, text, hit, is_certain=certain, cell=find_cell(hit))
        for hit, certain in (*hits, *((hit, True) for hit in unknown))
        if target.concerns(RULES[hit.rule], hit.archs)
    )


def _make_finding(path: str, text: Text, hit: Hit, *, is_certain: bool, cell: Cell | None) -> Finding:
    line, column = text.find_position(hit.start)
    end_line, end_column = text.find_position(hit.end)
    severity: Severity = RULES[hit.rule].severity
    excerpt = text.line_at(hit.start)
    return Finding(
        path=path, line=line, column=column, end_column=end_column if end_line == line else len(excerpt) + 1,
        rule=hit.rule, severity="warning" if severity == "error" and not is_certain else severity,
        detail=hit.detail, excerpt=excerpt[:_EXCERPT_CHARACTERS], is_certain=is_certain, cell=cell,
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
    return _report(file, findings)


def _nothing(file: Candidate, content: bytes) -> Scanned | Skipped:
    """No finding of its own; what it includes may have some. What is no notebook is not read."""
    if file.language == "notebook" and content.strip() and not is_notebook(content):
        return Skipped(path=file.path, reason="no notebook")
    includes = tuple(_read_includes(content)) if file.language == "cuda" else _list_required(file, read_text(content))
    return _report(file, (), includes=includes)


def _read_includes(content: bytes) -> Iterator[Included]:
    """By pattern: where a file has no word of CUDA, nothing asks what its #if mean."""
    line, at = 1, 0
    for match in _INCLUDED.finditer(content):
        line += content.count(b"\n", at, match.start(2))
        at = match.start(2)
        column = at - content.rfind(b"\n", 0, at)
        name = match[2].decode("utf-8", "replace")
        yield Included(name=name, is_quoted=match[1] == b'"', line=line, column=column)


def _drop_known(item: Scanned, known: Counter[str], on_known: Callable[[Finding], None]) -> Scanned:
    """What is known is not told; the verdict stays what it is."""
    if not known:
        return item
    told: list[Finding] = []
    hidden: Counter[str] = Counter()
    for finding in item.report.findings:
        if known[finding.fingerprint] > 0:
            known[finding.fingerprint] -= 1
            hidden[finding.severity] += 1
            on_known(finding)
        else:
            told.append(finding)
    report = dataclasses.replace(item.report, findings=tuple(told), known=dict(sorted(hidden.items())))
    return dataclasses.replace(item, report=report, suppressed=item.suppressed + hidden.total())
