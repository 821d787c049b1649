"""`provided-by-host` and [[expected]] of a recipe → what an audit will find and should not hold against the image."""

from __future__ import annotations

from dataclasses import dataclass

from rockiln.tables import Table, quote


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedFinding:
    """[[expected]]: findings of one rule that somebody has looked at."""

    finding: str
    """A rule's id, e.g. "runpath-unsafe": docs/audit.md lists them."""
    paths: tuple[str, ...]
    """Globs over image paths without the leading slash; ** crosses folders."""
    why: str


def read_expected(table: Table) -> ExpectedFinding:
    """The keys of one section, but for `when`; faults are noted in the table."""
    paths = table.texts("paths")
    for index, path in enumerate(paths):
        if path.startswith("/"):
            table.fault("paths", f"{quote(path)} starts with a slash; paths of the tree are written without", index)
    return ExpectedFinding(finding=table.text("finding"), paths=paths, why=table.text("why"))


def read_provided(top: Table) -> tuple[str, ...]:
    """`provided-by-host`: texts "SONAME: why"."""
    lines = top.texts("provided-by-host", ())
    for index, line in enumerate(lines):
        soname, _, why = line.partition(": ")
        if not (soname and why.strip()):
            top.fault("provided-by-host", f'{quote(line)} is not "SONAME: why"', index)
    return lines
