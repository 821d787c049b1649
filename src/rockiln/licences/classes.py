"""classes.toml and a project's supply-chain.toml → LicenceClasses: what is known of passing packages on.

The first class that fits a package decides; a project's own decisions go before all.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import rockiln.licences
from rockiln.tables import Table, parse_toml, read_toml

DECISIONS = "supply-chain.toml"
VERDICTS = ("allowed", "forbidden", "undecided")


@dataclass(frozen=True, slots=True, kw_only=True)
class LicenceClass:
    """One [[class]], or one [[licence]] of a project. Empty conditions do not count; one that fits is enough."""

    name: str
    redistribution: str
    why: str
    source: str = ""
    packages: tuple[str, ...] = ()
    """Globs over owners: "wheel:nvidia-*"."""
    files: tuple[str, ...] = ()
    """Globs over names of licence files."""
    sections: tuple[str, ...] = ()
    """Globs over dpkg's Section."""
    archives: tuple[str, ...] = ()
    """ID of the os-release whose archive a deb is from."""
    unless_maintainers: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    """In lower case, somewhere in a licence file."""
    licences: tuple[str, ...] = ()
    """SPDX names; all licences of a package must be among them."""


def read_classes() -> tuple[LicenceClass, ...]:
    """Those that rockiln ships."""
    text = files(rockiln.licences).joinpath("classes.toml").read_text(encoding="utf-8")
    top = parse_toml(text, "classes.toml")
    classes = tuple(_read_class(table) for table in top.tables("class"))
    top.faults.raise_any()
    return classes


def read_decisions(project_path: Path) -> tuple[LicenceClass, ...]:
    """[[licence]] of supply-chain.toml; none where there is no such file. Raises FileFaultsError."""
    path = project_path / DECISIONS
    if not path.exists():
        return ()
    top = read_toml(path, DECISIONS)
    decisions = tuple(_read_decision(table) for table in top.tables("licence"))
    top.tables("waiver")  # cve/waivers.py reads them
    top.refuse_others()
    top.faults.raise_any()
    return decisions


def _read_decision(table: Table) -> LicenceClass:
    decision = LicenceClass(
        name=DECISIONS,
        packages=table.texts("packages"),
        redistribution=table.text("redistribution", one_of=VERDICTS),
        why=table.text("why"),
    )
    table.refuse_others()
    return decision


def _read_class(table: Table) -> LicenceClass:
    found = LicenceClass(
        name=table.text("name"), redistribution=table.text("redistribution", one_of=VERDICTS), why=table.text("why"),
        source=table.text("source"), packages=table.texts("packages", ()), files=table.texts("files", ()),
        sections=table.texts("sections", ()), archives=table.texts("archives", ()),
        unless_maintainers=table.texts("unless-maintainers", ()), phrases=table.texts("phrases", ()),
        licences=table.texts("licences", ()),
    )  # fmt: skip
    table.refuse_others()
    return found
