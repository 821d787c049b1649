"""The image's Python and glibc → which wheels fit it, and what uv is told about it. x86-64 only, as ROCm is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

MACHINE = "x86_64"
UV_GLIBC_MINORS = (17, 28, *range(31, 41))
"""manylinux_2_N_x86_64 as uv 0.5.29 and later know it; a newer glibc counts as the newest of these."""
_LEGACY = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelPlatform:
    """What a wheel meets inside the image. Both come from the target's own debs, not from a table of systems."""

    python: Version
    """As exact as is known: markers may ask for python_full_version."""
    glibc: Version

    @property
    def uv_platform(self) -> str:
        """uv's --python-platform."""
        minor = max((known for known in UV_GLIBC_MINORS if known <= self.glibc.minor), default=UV_GLIBC_MINORS[0])
        return f"{MACHINE}-manylinux_2_{minor}"

    def tags(self) -> tuple[Tag, ...]:
        """Every tag that fits, best first."""
        version = (self.python.major, self.python.minor)
        abi = f"cp{version[0]}{version[1]}"
        platforms = list(self._platforms())
        return (
            *cpython_tags(version, [abi], platforms),
            *compatible_tags(version, abi, platforms),
        )

    def _platforms(self) -> Iterator[str]:
        for minor in range(self.glibc.minor, 4, -1):
            yield f"manylinux_2_{minor}_{MACHINE}"
            if minor in _LEGACY:
                yield f"{_LEGACY[minor]}_{MACHINE}"
        yield f"linux_{MACHINE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelName:
    """A wheel's file name, taken apart."""

    file: str
    name: str
    version: Version
    tags: frozenset[Tag]

    @property
    def architecture(self) -> str:
        """As its platform tag has it: x86_64, or any."""
        return MACHINE if any(tag.platform.endswith(MACHINE) for tag in self.tags) else "any"


def parse_wheel_name(file: str) -> WheelName | None:
    """None for what is no wheel's name."""
    try:
        name, version, _, tags = parse_wheel_filename(file)
    except InvalidWheelFilename:
        return None
    return WheelName(file=file, name=name, version=version, tags=tags)


def best_wheel(wheels: Iterable[WheelName], platform: WheelPlatform) -> WheelName | None:
    """The wheel with the best tag, as pip and uv choose it; None if none fits."""
    ranks = {tag: rank for rank, tag in enumerate(platform.tags())}
    fitting = [wheel for wheel in wheels if wheel.tags & ranks.keys()]
    return min(
        fitting, key=lambda wheel: (min(ranks[tag] for tag in wheel.tags & ranks.keys()), wheel.file), default=None
    )
