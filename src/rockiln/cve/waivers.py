"""[[waiver]] of supply-chain.toml → Waivers: what a person has said of a vulnerability, and until when that holds."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path

from rockiln.licences.classes import DECISIONS
from rockiln.tables import Table, read_toml

STATES = ("not_affected", "false_positive", "in_triage", "exploitable", "resolved")
JUSTIFICATIONS = (
    "code_not_present", "code_not_reachable", "requires_configuration", "requires_dependency", "requires_environment",
    "protected_by_compiler", "protected_at_runtime", "protected_at_perimeter", "protected_by_mitigating_control",
)  # fmt: skip
"""Both as CycloneDX has them: https://cyclonedx.org/docs/1.6/json/#vulnerabilities_items_analysis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """One [[waiver]]."""

    id: str
    packages: tuple[str, ...]
    """Globs over owners ("deb:libssl3", "wheel:*")."""
    state: str
    justification: str
    why: str
    expires: dt.date
    """The last day on which it holds."""

    def holds_on(self, date: dt.date) -> bool:
        return date <= self.expires


def read_waivers(path: Path) -> tuple[Waiver, ...]:
    """Raises FileFaultsError, with all faults of the file."""
    top = read_toml(path, path.name)
    waivers = tuple(_read_waiver(table) for table in top.tables("waiver"))
    top.tables("licence")  # licences/classes.py reads them
    top.refuse_others()
    top.faults.raise_any(hint="docs/cve.md has the keys")
    return waivers


def find_waivers_file(given: Path | None, project_path: Path) -> Path | None:
    """The file given, else the project's, if it has one."""
    path = given or project_path / DECISIONS
    return path if given or path.is_file() else None


def parse_date(text: str) -> dt.date:
    """YYYY-MM-DD. Raises ValueError."""
    try:
        return dt.date.fromisoformat(text)
    except ValueError as fault:
        raise ValueError(f"{text!r} is no date; write YYYY-MM-DD") from fault


def _read_waiver(table: Table) -> Waiver:
    expires = table.parsed("expires", table.text("expires"), parse_date)
    state = table.text("state", one_of=STATES)
    justification = table.text("justification", "", one_of=("", *JUSTIFICATIONS))
    if state == "not_affected" and not justification:
        table.fault("justification", "missing; who says not_affected says why in one of CycloneDX's words")
    waiver = Waiver(
        id=table.text("id"), packages=table.texts("packages"), state=state, justification=justification,
        why=table.text("why"), expires=expires or dt.date.min,
    )  # fmt: skip
    table.refuse_others()
    return waiver
