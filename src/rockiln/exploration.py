"""Matrix + compatibility table → Exploration: every combination that the table knows, allowed or why not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from packaging.version import Version

from rockiln.compatibility import Compatibility, RocmRelease
from rockiln.judge import judge_distributions, judge_row, judge_version
from rockiln.matrix import Matrix, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination. `rows` are the ids of the matrix rows that hold it; no reasons: it is allowed."""

    framework: str
    version: Version
    rocm: Version | None
    rocm_origin: str
    python: Version
    os: str
    arch: str
    """"" for a CPU cell."""
    rows: tuple[str, ...]
    reasons: tuple[str, ...]

    @property
    def platform(self) -> str:
        """The cell without its GPU target, as a person would say it, in the order of a target id."""
        rocm = f"rocm{self.rocm} ({self.rocm_origin})" if self.rocm else "cpu"
        return f"{self.framework} {self.version} {rocm} py{self.python} {self.os}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    cells: tuple[Cell, ...]


def explore(matrix: Matrix, compatibility: Compatibility) -> Exploration:
    """Frameworks, ROCm and CPU, Pythons, systems, GPU targets: the product, each judged as a row would be."""
    rows = _rows_by_cell(matrix)
    return Exploration(
        cells=tuple(
            cell
            for framework in sorted(compatibility.frameworks)
            for version in _known_versions(framework, matrix, compatibility)
            for release in (*compatibility.rocms, None)
            for cell in _explore_platform(_stand_in(framework, version, release), compatibility, rows)
        )
    )


def _explore_platform(
    target: Target, compatibility: Compatibility, rows: Mapping[tuple[object, ...], tuple[str, ...]]
) -> Iterator[Cell]:
    """The cells of one framework version on one ROCm: Pythons, systems, GPU targets."""
    archs = sorted({arch for release in compatibility.rocms for arch in release.archs}) if target.rocm else [""]
    for python in sorted({python for os in compatibility.oses.values() for python in os.pythons}):
        on_python = replace(target, python=python)
        against = judge_distributions(on_python, target.version, compatibility)
        for os, arch in product(sorted(compatibility.oses), archs):
            cell = replace(on_python, os=os, archs=(arch,) if arch else ())
            reasons = (*judge_row(cell, compatibility), *judge_version(cell, cell.version, compatibility), *against)
            yield _make_cell(cell, arch, rows.get(_key(cell, cell.version, arch), ()), reasons)


def _make_cell(target: Target, arch: str, rows: tuple[str, ...], reasons: tuple[str, ...]) -> Cell:
    return Cell(
        framework=target.framework,
        version=target.version,
        rocm=target.rocm,
        rocm_origin=target.rocm_origin,
        python=target.python,
        os=target.os,
        arch=arch,
        rows=rows,
        reasons=reasons,
    )


def _known_versions(framework: str, matrix: Matrix, compatibility: Compatibility) -> list[Version]:
    """Versions that somebody validated or that a row names."""
    validated = [
        version for item in compatibility.validations if item.framework == framework for version in item.versions
    ]
    rows = [target for target in matrix.targets if target.framework == framework]
    return sorted({*validated, *(candidate.version for row in rows for candidate in row.candidates)})


def _stand_in(framework: str, version: Version, release: RocmRelease | None) -> Target:
    """A row for the judges, its Python, system and GPU targets still open."""
    return Target(
        framework=framework,
        version=version,
        rocm=release.version if release else None,
        rocm_origin=release.origin if release else "",
        python=Version("0"),
        os="",
        archs=(),
        flavour="",
        recipe=framework,
        sources=(),
        candidates=(),
        plugins=(),
        absent=(),
    )


def _rows_by_cell(matrix: Matrix) -> Mapping[tuple[object, ...], tuple[str, ...]]:
    found: dict[tuple[object, ...], tuple[str, ...]] = {}
    for target in matrix.targets:
        for version in dict.fromkeys(candidate.version for candidate in target.candidates):
            for arch in target.archs or ("",):
                key = _key(target, version, arch)
                found[key] = (*found.get(key, ()), target.id)
    return found


def _key(target: Target, version: Version, arch: str) -> tuple[object, ...]:
    return (target.framework, version, target.rocm, target.rocm_origin, target.python, target.os, arch)
