"""A small planned target over given sources, with no file behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from rockiln.matrix import Candidate, Matrix, Source, Target
from rockiln.plan import PlannedTarget
from rockiln.recipe import Recipe


def make_recipe(packages: Sequence[str] = ()) -> Recipe:
    """Nothing but packages."""
    return Recipe(
        name="tiny", path=Path("images/tiny/image.toml"), packages=tuple(packages), env={}, workdir="/", user="root",
        cmd=(), labels={}, writable_folders=(), files={}, edits=(), drops=(), users=(), layer_budget=10,
        smoke_tiers=(), required_tiers=(),
    )  # fmt: skip


def make_planned(
    sources: Sequence[str] = (),
    packages: Sequence[str] = (),
    wheels: Sequence[str] = (),
    *,
    python: str = "3.11",
    plugins: Sequence[str] = (),
    framework: str = "tiny",
) -> PlannedTarget:
    """tiny-1.0-cpu-py3.11-debian-12, or another framework's."""
    candidate = Candidate(
        version=Version("1.0"),
        wheels=tuple(map(Requirement, wheels)),
        evidence="proven",
        evidence_source="this test",
    )
    target = Target(
        framework=framework, version=Version("1.0"), rocm=None, rocm_origin="", python=Version(python), os="debian-12",
        archs=(), flavour="", recipe="tiny", sources=tuple(sources), candidates=(candidate,), plugins=tuple(plugins),
        absent=(),
    )  # fmt: skip
    return PlannedTarget(target=target, recipe=make_recipe(packages), taken=candidate, passed_over=(), caveats=())


def make_matrix(
    project_path: Path,
    sources: Sequence[Source] = (),
    targets: Sequence[PlannedTarget] = (),
    mirrors: Mapping[str, tuple[str, ...]] | None = None,
) -> Matrix:
    """A matrix in `project_path`, read from nowhere."""
    return Matrix(
        path=project_path / "matrix.toml",
        targets=tuple(planned.target for planned in targets),
        sources={source.name: source for source in sources},
        mirrors=mirrors or {},
    )
