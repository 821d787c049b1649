"""compatibility.toml → Compatibility: what is known to fit together, each fact with its source; data, not code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from rockiln.tables import Table, read_toml

SCHEMA = 1
COMPATIBILITY_PATH = Path(__file__).with_name("compatibility.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """[frameworks.NAME]: under which distributions it comes, and what must have the framework's own version."""

    name: str
    cpu: tuple[str, ...]
    """For a CPU row, a candidate holds exactly one of these, and its public version is the image's."""
    rocm: tuple[str, ...]
    """The same for a row on ROCm."""
    lockstep: tuple[str, ...]
    """Distributions whose public version must equal the framework's, where a candidate names them."""
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RocmRelease:
    """[[rocm]]: one build of ROCm by one origin: its GPU targets and the systems it is made for."""

    version: Version
    origin: str
    archs: tuple[str, ...]
    oses: tuple[str, ...]
    os_archs: Mapping[str, tuple[str, ...]]
    """Systems on which only some of the targets are supported."""
    source: str

    def archs_on(self, os: str) -> tuple[str, ...]:
        """The GPU targets that this release supports on a system."""
        return self.os_archs.get(os, self.archs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """[[validated]]: versions of a framework that somebody ran on a ROCm release."""

    framework: str
    rocm: Version
    origin: str
    versions: tuple[Version, ...]
    except_archs: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OsRelease:
    """[[os]]: a system and the Pythons that its archive holds."""

    name: str
    pythons: tuple[Version, ...]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelPythons:
    """[[wheel]]: Pythons for which versions of a distribution have wheels; a distribution not listed is not judged."""

    name: str
    versions: SpecifierSet
    pythons: tuple[Version, ...]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compatibility:
    frameworks: Mapping[str, Framework]
    rocms: tuple[RocmRelease, ...]
    validations: tuple[Validation, ...]
    oses: Mapping[str, OsRelease]
    wheels: tuple[WheelPythons, ...]


def read_compatibility(path: Path = COMPATIBILITY_PATH) -> Compatibility:
    """Read the packaged table, or another of the same form; all faults of the file at once."""
    top = read_toml(path, path.name)
    if top.number("schema") != SCHEMA and "schema" in top:
        top.fault("schema", f"this rockiln reads schema {SCHEMA} only")
    table = Compatibility(
        frameworks={name: _read_framework(name, found) for name, found in top.named_tables("frameworks").items()},
        rocms=tuple(_read_rocm(found) for found in top.tables("rocm")),
        validations=tuple(_read_validation(found) for found in top.tables("validated")),
        oses={os.name: os for os in (_read_os(found) for found in top.tables("os"))},
        wheels=tuple(_read_wheel(found) for found in top.tables("wheel")),
    )
    top.refuse_others()
    top.faults.raise_any()
    return table


def _read_framework(name: str, table: Table) -> Framework:
    found = Framework(
        name=name,
        cpu=_names(table, "cpu"),
        rocm=_names(table, "rocm"),
        lockstep=_names(table, "lockstep") if "lockstep" in table else (),
        source=table.text("source"),
    )
    table.refuse_others()
    return found


def _read_rocm(table: Table) -> RocmRelease:
    found = RocmRelease(
        version=table.version("version"),
        origin=table.text("origin"),
        archs=table.texts("archs"),
        oses=table.texts("os"),
        os_archs=table.texts_map("os-archs"),
        source=table.text("source"),
    )
    table.refuse_others()
    return found


def _read_validation(table: Table) -> Validation:
    found = Validation(
        framework=table.text("framework"),
        rocm=table.version("rocm"),
        origin=table.text("origin"),
        versions=table.versions("versions"),
        except_archs=table.texts("except-archs", ()),
        source=table.text("source"),
    )
    table.refuse_others()
    return found


def _read_os(table: Table) -> OsRelease:
    found = OsRelease(name=table.text("name"), pythons=table.versions("pythons"), source=table.text("source"))
    table.refuse_others()
    return found


def _read_wheel(table: Table) -> WheelPythons:
    found = WheelPythons(
        name=canonicalize_name(table.text("name")),
        versions=table.specifiers("versions"),
        pythons=table.versions("pythons"),
        source=table.text("source"),
    )
    table.refuse_others()
    return found


def _names(table: Table, key: str) -> tuple[str, ...]:
    return tuple(canonicalize_name(text) for text in table.texts(key))
