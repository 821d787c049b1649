"""What a verb gives back → printed by cli.py: text for people, or the value itself for --json."""

from __future__ import annotations

from dataclasses import dataclass

from rockiln.amounts import format_bytes
from rockiln.console import printable
from rockiln.errors import RockilnError

__all__ = ["Answer", "format_bytes", "tabulate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A verb's result. `fault` is set where there is both a result to print and a reason not to exit with 0.

    No text, no line: a program that was run has had standard output to itself.
    """

    text: str
    value: object
    fault: RockilnError | None = None


def tabulate(rows: list[tuple[str, ...]]) -> str:
    """Rows of text as left-aligned columns, two spaces apart, no trailing blanks, each cell printable."""
    cells = [tuple(map(printable, row)) for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)
