"""Reports of files and their includes → verdicts that know of each other: what includes a blocked file is blocked."""

from __future__ import annotations

import dataclasses
import os
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hipcompat.scan.finding import VERDICTS, FileReport, Finding, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Included:
    """One #include, and where it stands."""

    name: str
    is_quoted: bool
    line: int
    column: int


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
        targets = (index.find(report.path, item.name) for item in includes.get(report.path, ()))
        graph[report.path] = tuple(target for target in targets if target)
    return graph


class _Index:
    """Scanned paths by their last part."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = set()
        self._by_name: dict[str, list[str]] = {}
        for path in paths:
            self._paths.add(path)
            self._by_name.setdefault(posixpath.basename(path), []).append(path)

    def find(self, including: str, name: str) -> str:
        """The scanned file that `including` means by `name`; empty where none is."""
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(including), name))
        if beside in self._paths:
            return beside
        plain = posixpath.normpath(name).lstrip("./")
        alike = [path for path in self._by_name.get(posixpath.basename(name), ()) if f"/{path}".endswith(f"/{plain}")]
        return alike[0] if len(alike) == 1 else ""

    def has_name(self, name: str) -> bool:
        """Some scanned file has this last part."""
        return posixpath.basename(name) in self._by_name


def note_unresolved(reports: tuple[FileReport, ...], includes: Includes) -> tuple[FileReport, ...]:
    """A note for each quoted include that is neither among the scanned files nor beside the including one."""
    index = _Index(report.path for report in reports)
    noted = []
    for report in reports:
        if report.renamed or report.findings:
            missing = tuple(
                Finding(
                    path=report.path, line=item.line, column=item.column, end_column=item.column + len(item.name),
                    rule="unresolved-include", severity="note", detail=item.name, excerpt=f'#include "{item.name}"',
                )
                for item in includes.get(report.path, ())
                if item.is_quoted and not index.has_name(item.name) and not _is_beside(report.path, item.name)
                and not _is_known(item.name)
            )  # fmt: skip
            findings = tuple(sorted((*report.findings, *missing), key=lambda finding: (finding.line, finding.column)))
            report = dataclasses.replace(report, findings=findings)  # noqa: PLW2901  # the same file, with more said
        noted.append(report)
    return tuple(noted)


def _is_beside(path: str, name: str) -> bool:
    try:
        return os.path.exists(os.path.join(os.path.dirname(path), name))  # noqa: PTH110, PTH118, PTH120  # any text is a name
    except ValueError:
        return False


def _is_known(name: str) -> bool:
    """A header of the toolkit or of C in quotes."""
    from hipcompat.facts import read_facts

    return name in read_facts() or name in {"stdio.h", "stdlib.h", "string.h", "math.h", "assert.h", "mpi.h", "omp.h"}
