"""A row or candidate + compatibility table → every reason against it; none means that it is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from rockiln.compatibility import Compatibility, Framework, RocmRelease
from rockiln.matrix import Candidate, Target
from rockiln.tables import suggest

BUILT_FOR = re.compile(r"(cpu|cu\d+|rocm\d+(?:\.\d+)+)(\.|$)")
"""At the start of a local version; cu126 is a CUDA build, which no row wants."""


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
        *_judge_wheels(row, candidate, framework),
        *_judge_builds(row, candidate.wheels),
        *_judge_pythons(row.python, candidate.wheels, compatibility),
    )


def judge_version(row: Target, version: Version, compatibility: Compatibility) -> tuple[str, ...]:
    """Reasons against this version of the framework on the row's ROCm and GPU targets."""
    if row.rocm is None:
        return ()
    on_rocm = [
        item
        for item in compatibility.validations
        if (item.framework, item.rocm, item.origin) == (row.framework, row.rocm, row.rocm_origin)
    ]
    rocm = f"{row.rocm_origin} ROCm {row.rocm}"
    found = next((item for item in on_rocm if version in item.versions), None)
    if found:
        broken = [arch for arch in row.archs if arch in found.except_archs]
        return (f"{row.framework} {version} on {rocm} is not for {_join(broken)} ({found.source})",) if broken else ()
    if not on_rocm:
        return (f"nobody has run {row.framework} on {rocm}, as far as the table knows",)
    known = _join(known for item in on_rocm for known in item.versions)
    return (f"{row.framework} {version} is not validated on {rocm}; {known} are",)


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
    if row.os not in release.oses:
        yield f"{release.origin} ROCm {rocm} is not made for {row.os}, only for {_join(release.oses)}"
    for arch in row.archs:
        if arch not in release.archs:
            yield f"{release.origin} ROCm {rocm} has no code for {arch}, only for {_join(release.archs)}"
        elif arch not in release.archs_on(row.os):
            yield f"{release.origin} ROCm {rocm} does not support {arch} on {row.os}"


def find_release(rocm: Version, origin: str, compatibility: Compatibility) -> RocmRelease | None:
    """The table's entry for this build of ROCm."""
    return next((found for found in compatibility.rocms if (found.version, found.origin) == (rocm, origin)), None)


def _judge_wheels(row: Target, candidate: Candidate, framework: Framework) -> Iterator[str]:
    """The version must be the one that the framework's wheel really has, and its companions' too."""
    pins: dict[str, Version] = {canonicalize_name(wheel.name): pinned_version(wheel) for wheel in candidate.wheels}
    wanted = framework.rocm if row.rocm else framework.cpu
    own = [name for name in wanted if name in pins]
    if len(own) != 1:
        yield f"its wheels name {_join(own) or 'none'} of {_join(wanted)}; exactly one is needed"
    for name in (*own, *framework.lockstep):
        if name in pins and Version(pins[name].public) != candidate.version:
            yield f"its wheel {name} is {pins[name]}, not {candidate.version}"


def _judge_builds(row: Target, wheels: Iterable[Requirement]) -> Iterator[str]:
    """A local version says what a wheel was built for: +rocm7.0.2… or +cpu."""
    for wheel in wheels:
        version = pinned_version(wheel)
        built_for = BUILT_FOR.match(version.local or "")
        if built_for is None:
            continue
        wanted = f"rocm{row.rocm}" if row.rocm else "cpu"
        if built_for[1] != wanted:
            yield f"its wheel {wheel.name} {version} is built for {built_for[1]}, and the row is for {wanted}"


def judge_distributions(row: Target, version: Version, compatibility: Compatibility) -> tuple[str, ...]:
    """Reasons against a Python from the framework's own distributions at `version`, where no wheels are named yet."""
    framework = compatibility.frameworks[row.framework]
    own = framework.rocm if row.rocm else framework.cpu[:1]
    pins = [Requirement(f"{name}=={version}") for name in (*own, *framework.lockstep)]
    return tuple(_judge_pythons(row.python, pins, compatibility))


def _judge_pythons(python: Version, wheels: Iterable[Requirement], compatibility: Compatibility) -> Iterator[str]:
    for wheel in wheels:
        name, version = canonicalize_name(wheel.name), pinned_version(wheel)
        for known in compatibility.wheels:
            public = Version(version.public)
            if known.name == name and known.versions.contains(public) and python not in known.pythons:
                yield f"{name} {version} has no wheel for Python {python}, only for {_join(known.pythons)}"


def _join(words: Iterable[object]) -> str:
    return ", ".join(str(word) for word in words)
