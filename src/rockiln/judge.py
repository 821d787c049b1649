"""A row or candidate + compatibility table → every reason against it; none means that it is allowed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from rockiln.compatibility import Compatibility, Framework, RocmRelease
from rockiln.matrix import Candidate, Target
from rockiln.tables import suggest


def judge_row(row: Target, compatibility: Compatibility) -> tuple[str, ...]:
    """Reasons against the row whatever its candidate: framework, system, Python, ROCm and GPU targets."""
    return tuple(_judge_row(row, compatibility))


def judge_candidate(row: Target, candidate: Candidate, compatibility: Compatibility) -> tuple[str, ...]:
    """Reasons against filling the row with this candidate."""
    framework = compatibility.frameworks.get(row.framework)
    if framework is None:
        return ()  # judge_row has said so
    return (
        *judge_version(row, candidate.version, compatibility),
        *_judge_wheels(candidate, framework),
        *_judge_pythons(row.python, candidate.wheels, compatibility),
    )


def judge_version(row: Target, version: Version, compatibility: Compatibility) -> tuple[str, ...]:
    """Reasons against this version of the framework on the row's ROCm."""
    if row.rocm is None:
        return ()
    found = [
        validation
        for validation in compatibility.validations
        if (validation.framework, validation.rocm, validation.origin) == (row.framework, row.rocm, row.rocm_origin)
    ]
    known = [known for validation in found for known in validation.versions]
    if version in known:
        return ()
    rocm = f"{row.rocm_origin} ROCm {row.rocm}"
    if not known:
        return (f"nobody has run {row.framework} on {rocm}, as far as the table knows",)
    return (f"{row.framework} {version} is not validated on {rocm}; {_join(known)} are",)


def pinned_version(requirement: Requirement) -> Version:
    """The one version that a pinned requirement names."""
    return Version(next(iter(requirement.specifier)).version)


def _judge_row(row: Target, compatibility: Compatibility) -> Iterator[str]:
    if row.framework not in compatibility.frameworks:
        yield f"unknown framework {row.framework}{suggest(row.framework, compatibility.frameworks)}"
    os = compatibility.oses.get(row.os)
    if os is None:
        yield f"unknown os {row.os}{suggest(row.os, compatibility.oses)}"
    elif row.python not in os.pythons:
        yield f"{row.os} has no Python {row.python}, only {_join(os.pythons)} ({os.source})"
    if row.rocm is not None:
        yield from _judge_rocm(row, row.rocm, compatibility)


def _judge_rocm(row: Target, rocm: Version, compatibility: Compatibility) -> Iterator[str]:
    release = find_release(rocm, row.rocm_origin, compatibility)
    if release is None:
        known = _join(f"{found.origin} {found.version}" for found in compatibility.rocms)
        yield f"unknown ROCm: {row.rocm_origin} {rocm}; the table knows {known}"
        return
    for arch in row.archs:
        if arch not in release.archs:
            yield f"{release.origin} ROCm {rocm} has no code for {arch}, only for {_join(release.archs)}"
    if row.os not in release.oses:
        yield f"{release.origin} ROCm {rocm} is not made for {row.os}, only for {_join(release.oses)}"


def find_release(rocm: Version, origin: str, compatibility: Compatibility) -> RocmRelease | None:
    """The table's entry for this build of ROCm."""
    return next((found for found in compatibility.rocms if (found.version, found.origin) == (rocm, origin)), None)


def _judge_wheels(candidate: Candidate, framework: Framework) -> Iterator[str]:
    """The version must be the one that the framework's wheel really has, and its companions' too."""
    pins: dict[str, Version] = {canonicalize_name(wheel.name): pinned_version(wheel) for wheel in candidate.wheels}
    own = [name for name in framework.distributions if name in pins]
    if len(own) != 1:
        yield f"its wheels hold {len(own)} of {_join(framework.distributions)}; exactly one is needed"
    for name in (*own, *framework.lockstep):
        if name in pins and Version(pins[name].public) != candidate.version:
            yield f"its wheel {name} is {pins[name]}, not {candidate.version}"


def _judge_pythons(python: Version, wheels: Iterable[Requirement], compatibility: Compatibility) -> Iterator[str]:
    for wheel in wheels:
        name, version = canonicalize_name(wheel.name), pinned_version(wheel)
        for known in compatibility.wheels:
            public = Version(version.public)
            if known.name == name and known.versions.contains(public) and python not in known.pythons:
                yield f"{name} {version} has no wheel for Python {python}, only for {_join(known.pythons)}"


def _join(words: Iterable[object]) -> str:
    return ", ".join(str(word) for word in words)
