"""Reports of files and their includes → verdicts that know of each other: what includes a blocked file is blocked."""

from __future__ import annotations

import dataclasses
import os
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hipcompat.facts import read_facts
from hipcompat.scan.finding import VERDICTS, FileReport, Finding, Verdict
from hipcompat.scan.rules import RULES


@dataclass(frozen=True, slots=True, kw_only=True)
class Included:
    """One #include, and where it stands."""

    name: str
    is_quoted: bool
    line: int
    column: int
    excerpt: str = ""
    """The line of an option of pip's, -r or -c; empty for an #include."""

    @property
    def is_required(self) -> bool:
        """By pip: it is the file of that name beside the one that names it, or none."""
        return bool(self.excerpt)


_SYSTEM_NAMES = (
    "aio alloca argp assert byteswap complex cpuid ctype dirent dlfcn elf endian err errno error execinfo "
    "fcntl fenv float fnmatch ftw getopt glob grp iconv inttypes iso646 langinfo libgen libintl limits "
    "link locale malloc math memory mpi mqueue netdb numa numaif omp poll pthread pwd regex resolv sched "
    "semaphore setjmp signal spawn stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib "
    "stdnoreturn string strings syslog termios tgmath threads time uchar ucontext unistd utime values "
    "wchar wctype wordexp x86intrin immintrin emmintrin xmmintrin pmmintrin tmmintrin smmintrin nmmintrin "
    "avxintrin zlib Python windows"
)
_SYSTEM = frozenset(f"{name}.h" for name in _SYSTEM_NAMES.split())
"""Headers of C, POSIX, Linux, and of what stands on every machine."""

Includes = Mapping[str, tuple[Included, ...]]
"""By path."""


def follow_includes(reports: tuple[FileReport, ...], includes: Includes) -> tuple[FileReport, ...]:
    """Give each file the worst verdict of what it includes, however deep; circles end."""
    graph = _resolve(reports, includes)
    own = {report.path: report for report in reports}
    return tuple(_worsen(report, _reach(report.path, graph), own) for report in reports)


def _worsen(report: FileReport, reached: Iterable[str], own: Mapping[str, FileReport]) -> FileReport:
    others = [own[path] for path in reached]
    toolkit = {name for file in (report, *others) for name in file.toolkit}
    blocked = {other.path for other in others if other.verdict == "blocked"}
    blocked |= {file.path for file in (report, *others) if toolkit.intersection(file.errors_with)}
    worst = max((report.verdict, *(other.verdict for other in others)), key=VERDICTS.index)
    verdict: Verdict = "blocked" if blocked else worst
    if verdict == report.verdict and not blocked:
        return report
    return dataclasses.replace(report, verdict=verdict, blocked_through=tuple(sorted(blocked)))


def _reach(start: str, graph: Mapping[str, tuple[str, ...]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(graph.get(start, ()))
    while waiting:
        path = waiting.pop()
        if path not in reached and path != start:
            reached.add(path)
            waiting += graph.get(path, ())
    return reached


def _resolve(reports: tuple[FileReport, ...], includes: Includes) -> dict[str, tuple[str, ...]]:
    """Beside the including file, else the scanned file whose path ends so, if there is exactly one."""
    index = _Index(report.path for report in reports)
    graph = {}
    for report in reports:
        targets = (index.find(report.path, item) for item in includes.get(report.path, ()))
        graph[report.path] = tuple(target for target in targets if target)
    return graph


class _Index:
    """Scanned paths by their last part."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = set()
        self._real: set[str] | None = None
        self._by_name: dict[str, list[str]] = {}
        for path in paths:
            self._paths.add(path)
            self._by_name.setdefault(posixpath.basename(path), []).append(path)

    def find(self, including: str, item: Included) -> str:
        """The scanned file that `including` means by `item`; empty where none is."""
        name = item.name
        beside = join_beside(including, name)
        if beside in self._paths:
            return beside
        if item.is_required:
            return ""
        plain = posixpath.normpath(name).lstrip("./")
        alike = [path for path in self._by_name.get(posixpath.basename(name), ()) if f"/{path}".endswith(f"/{plain}")]
        return alike[0] if len(alike) == 1 else ""

    def has_name(self, name: str) -> bool:
        """Some scanned file has this last part."""
        return posixpath.basename(name) in self._by_name

    def has_file(self, path: str) -> bool:
        """This file was scanned, however it is named: by links, or through .. ."""
        if self._real is None:
            self._real = {os.path.realpath(known) for known in self._paths}
        return os.path.realpath(path) in self._real


def note_unresolved(reports: tuple[FileReport, ...], includes: Includes) -> tuple[FileReport, ...]:
    """A finding for each included file that was not scanned: it is there and was left out, or nobody knows where."""
    index = _Index(report.path for report in reports)
    return tuple(_note(report, includes.get(report.path, ()), index) for report in reports)


def join_beside(including: str, name: str) -> str:
    """The path of `name` beside the file that includes it."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(including), name))


def _note(report: FileReport, includes: tuple[Included, ...], index: _Index) -> FileReport:
    told = {(finding.line, finding.detail) for finding in report.findings}
    is_device = bool(report.renamed or report.findings) or report.path.endswith((".cu", ".cuh"))
    missing = tuple(
        Finding(
            path=report.path, line=item.line, column=item.column, end_column=item.column + len(item.name),
            rule=(rule := RULES["requirements-unread" if item.is_required else "unresolved-include"]).id,
            severity=rule.severity, detail=item.name, excerpt=_write_out(item),
        )
        for item in includes
        if (item.line, item.name) not in told
        and not index.find(report.path, item) and _is_missed(report.path, item, index, is_device=is_device)
    )  # fmt: skip
    if not missing:
        return report
    findings = tuple(sorted((*report.findings, *missing), key=lambda finding: (finding.line, finding.column)))
    return dataclasses.replace(report, findings=findings)


def _write_out(item: Included) -> str:
    if item.is_required:
        return item.excerpt
    return f'#include "{item.name}"' if item.is_quoted else f"#include <{item.name}>"


def _is_missed(path: str, item: Included, index: _Index, *, is_device: bool) -> bool:
    """One that is there counts for every file; one that is nowhere, for a file with CUDA's code: -I may find it."""
    if not item.is_required and _is_known(item.name):
        return False
    if item.is_quoted and (beside := _find_beside(path, item.name)):
        return not index.has_file(beside)
    if item.is_required:
        return True
    if not is_device or index.has_name(item.name):
        return False
    return item.is_quoted or _is_own(item.name)


def _find_beside(path: str, name: str) -> str:
    """The file beside the including one; empty where there is none."""
    beside = os.path.join(os.path.dirname(path), name)  # noqa: PTH118, PTH120  # any text is a name
    return beside if is_regular(beside) else ""


def is_regular(path: str) -> bool:
    """A regular file of that name is there, or a link to one."""
    try:
        return os.path.isfile(path)  # noqa: PTH113
    except ValueError:
        return False


def _is_own(name: str) -> bool:
    """In angle brackets: device code, or a header without a folder that is neither C's nor the system's."""
    if name.endswith((".cu", ".cuh")):
        return True
    return "/" not in name and name.endswith((".h", ".hpp", ".hh", ".hxx")) and name not in _SYSTEM


def _is_known(name: str) -> bool:
    """A header of the toolkit, in ROCm or not, or of C in quotes: the facts and other rules judge it."""
    return name in read_facts() or name in _SYSTEM or name.startswith(("hip/", "hipcub/", "rocprim/"))
