"""Any stage's value → JSON: what `--json` prints and what build/TARGET/STAGE.json holds."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path, PurePath

from packaging.requirements import Requirement
from packaging.version import Version

from rockiln.console import printable_lines
from rockiln.disk import write_whole

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def to_json(value: object) -> Json:
    """Turn frozen values into plain JSON: fields by name, tuples as lists, versions and paths as text.

    Raises TypeError for a type that no stage's value holds.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Version | Requirement | PurePath):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_json(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    if isinstance(value, frozenset | set):
        return [to_json(item) for item in sorted(value, key=str)]
    raise TypeError(f"{type(value).__name__} is no stage value")


def dump(value: object) -> str:
    """`value` as indented JSON text, ending in a newline; always UTF-8.

    What is not printable is escaped. A byte of a file's name that is not UTF-8 becomes `\\udc80` to `\\udcff`: what
    Python reads back is the name as os.fsdecode has it.
    """
    return printable_lines(json.dumps(to_json(value), indent=2, ensure_ascii=False)) + "\n"


def write_value(value: object, path: Path) -> None:
    """Write `value` to `path`, whole or not at all."""
    write_whole(path, dump(value).encode())
