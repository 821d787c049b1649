"""What a verb gives back → printed by cli.py: text for people, or the value itself for --json."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from hipcompat.console import printable, printable_lines
from hipcompat.errors import CompatError

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A verb's result. `fault` is set where there is both a result to print and a reason not to exit with 0.

    `aside` goes to stderr: what a person should see whose program takes `text` from stdout.
    """

    text: str
    value: object
    aside: str = ""
    fault: CompatError | None = None


def to_json(value: object) -> Json:
    """Turn frozen values into plain JSON: fields by name, tuples as lists, paths as text.

    Raises TypeError for a type that no answer holds.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, PurePath):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_json(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    raise TypeError(f"{type(value).__name__} is in no answer")


def dump(value: object) -> str:
    """`value` as indented JSON text, without a newline at its end; what is not printable is escaped."""
    return printable_lines(json.dumps(to_json(value), indent=2, ensure_ascii=False))


def tabulate(rows: list[tuple[str, ...]]) -> str:
    """Rows of text as left-aligned columns, two spaces apart, no trailing blanks, each cell printable."""
    cells = [tuple(map(printable, row)) for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)
