"""Installed + classes → LicenceTable: each package's licences, whether it may be passed on, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from rockiln.errors import LicenceError
from rockiln.licences.classes import LicenceClass
from rockiln.licences.names import name_deb_licences, name_wheel_licences
from rockiln.sbom.installed import Installed, Package

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class LicenceRow:
    """One package."""

    owner: str
    version: str
    licences: tuple[str, ...]
    """SPDX names where there are; ("unknown",) where nothing tells."""
    redistribution: str
    """"allowed", "forbidden" or "undecided"."""
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LicenceTable:
    """One image."""

    subject: str
    rows: tuple[LicenceRow, ...]


def make_licence_table(subject: str, installed: Installed, classes: Sequence[LicenceClass]) -> LicenceTable:
    """A row a package, in the order of `installed`."""
    sources = index_sources(installed)
    rows = [_judge(package, sources, installed.os_id, classes) for package in installed.packages]
    return LicenceTable(subject=subject, rows=tuple(rows))


def name_licences(package: Package, sources: Mapping[str, Package]) -> tuple[str, ...]:
    """Names of the package's licences; empty where nothing tells. A deb without a copyright file has that of another
    one of the same source: they often share a folder."""
    texts = tuple(content.decode("utf-8", "replace") for content in package.licence_files.values())
    if package.kind == "wheel":
        return name_wheel_licences(package.fields, package.classifiers, texts)
    if not texts and (other := sources.get(source_of(package))):
        texts = tuple(content.decode("utf-8", "replace") for content in other.licence_files.values())
    return tuple(sorted({name for text in texts for name in name_deb_licences(text)}))


def source_of(package: Package) -> str:
    """The source package of a deb, without its version."""
    return package.fields.get("source", package.name).partition(" ")[0]


def find_fault(tables: Iterable[LicenceTable]) -> LicenceError | None:
    """The fault that forbidden and undecided packages amount to."""
    bad = [(table.subject, row) for table in tables for row in table.rows if row.redistribution != "allowed"]
    if not bad:
        return None
    lines = [f"{subject}: {row.owner} {row.version}: {row.redistribution}: {row.why}" for subject, row in bad]
    hint = "take it out of the image, or decide: [[licence]] in supply-chain.toml (docs/supply-chain.md)"
    return LicenceError("\n  ".join(("not everything may be passed on:", *lines)), hint=hint)


def index_sources(installed: Installed) -> dict[str, Package]:
    """Source package → a deb of it that brings licence files."""
    return {source_of(one): one for one in reversed(installed.packages) if one.kind == "deb" and one.licence_files}


def _judge(
    package: Package, sources: Mapping[str, Package], os_id: str, classes: Sequence[LicenceClass]
) -> LicenceRow:
    licences = name_licences(package, sources)
    found = next((one for one in classes if _fits(one, package, licences, os_id)), None)
    unknown = f"no class of licences fits {' and '.join(licences)}" if licences else "nothing tells its licence"
    return LicenceRow(
        owner=package.owner, version=package.version, licences=licences or (UNKNOWN,),
        redistribution=found.redistribution if found else "undecided", why=found.why if found else unknown,
    )  # fmt: skip


def _fits(one: LicenceClass, package: Package, licences: tuple[str, ...], os_id: str) -> bool:
    return (
        _matches(package.owner, one.packages)
        or any(_matches(path.rpartition("/")[2], one.files) for path in package.licence_files)
        or (package.kind == "deb" and _matches(package.fields.get("section", ""), one.sections))
        or _is_from(package, os_id, one)
        or (bool(one.phrases) and _says(package, one.phrases))
        or (bool(one.licences) and bool(licences) and all(_is_among(name, one.licences) for name in licences))
    )


def _matches(text: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(text, glob) for glob in globs)


def _is_from(package: Package, os_id: str, one: LicenceClass) -> bool:
    maintainer = package.fields.get("maintainer", "")
    return package.kind == "deb" and os_id in one.archives and not _matches(maintainer, one.unless_maintainers)


def _says(package: Package, phrases: tuple[str, ...]) -> bool:
    return any(
        phrase in words
        for content in package.licence_files.values()
        for words in (" ".join(content.decode("utf-8", "replace").lower().split()),)
        for phrase in phrases
    )


def _is_among(name: str, known: tuple[str, ...]) -> bool:
    """Of an expression with OR one side is enough; with AND all must be known."""
    if name in known:
        return True
    from license_expression import ExpressionError, get_spdx_licensing

    try:
        tree = get_spdx_licensing().parse(name)
    except (ExpressionError, ValueError, TypeError):
        return False
    return tree is not None and _is_tree_among(tree, known)


def _is_tree_among(tree: Any, known: tuple[str, ...]) -> bool:
    operator = getattr(tree, "operator", "").strip().upper()
    if operator == "OR":
        return any(_is_tree_among(part, known) for part in tree.args)
    if operator == "AND":
        return all(_is_tree_among(part, known) for part in tree.args)
    return str(tree) in known
