"""matrix.toml + a change → its new text: a row added or a candidate bumped, with a person's comments kept."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import cast

import tomlkit
from packaging.utils import canonicalize_name
from packaging.version import Version
from tomlkit.items import AoT

from rockiln.disk import write_named
from rockiln.errors import UsageError
from rockiln.matrix import Matrix, parse_matrix
from rockiln.tables import list_words, parse_pin, quote, suggest

ROW_TEXTS = ("framework", "rocm", "rocm-origin", "python", "os", "flavour", "recipe")
ROW_ARRAYS = ("archs", "sources", "candidates", "plugins", "absent")


def add(matrix: Matrix, like_id: str, changes: Mapping[str, str]) -> str:
    """The file's text with a copy of the row `like_id`, changed. An empty value takes the key out of the copy."""
    ids = [target.id for target in matrix.targets]
    if like_id not in ids:
        raise UsageError(f"no row {quote(like_id)}{suggest(like_id, ids)}", hint="rockiln plan lists the ids")
    document = tomlkit.parse(_read(matrix.path))
    rows = cast("AoT", document["target"])
    row = tomlkit.document()
    row.update(rows[ids.index(like_id)].unwrap())
    for key, text in changes.items():
        _set(row, key, text)
    text = tomlkit.dumps(document)
    return _check(f"{text.rstrip()}\n\n[[target]]\n{tomlkit.dumps(row).rstrip()}\n", matrix.path)


def bump(matrix: Matrix, candidate: str, wheels: Sequence[str], evidence: str, evidence_source: str) -> str:
    """The file's text with other pins for some wheels of a candidate; its version and its name follow.

    The evidence of the old pins says nothing about the new ones, so it has to be given anew.
    """
    document = tomlkit.parse(_read(matrix.path))
    candidates = cast("MutableMapping[str, MutableMapping[str, object]]", document["candidates"])
    if candidate not in candidates:
        hint = "they are the [candidates.NAME] tables of matrix.toml"
        raise UsageError(f"no candidate {quote(candidate)}{suggest(candidate, candidates)}", hint=hint)
    table = candidates[candidate]
    pins = cast("list[str]", table["wheels"])
    for wheel in wheels:
        pins[_find_pin(pins, wheel, candidate)] = wheel
    old = str(table["version"])
    table["version"] = new = _public_version(pins[0])
    table["evidence"], table["evidence-source"] = evidence, evidence_source
    return _check(_rename(document, candidate, candidate.replace(old, new)), matrix.path)


def write_matrix_text(path: Path, text: str) -> None:
    """Replace matrix.toml in one step."""
    write_named(path, text.encode())


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _check(text: str, path: Path) -> str:
    """The text itself; faults that the change brought in are raised, before anything is written."""
    parse_matrix(text, path)
    return text


def _set(row: MutableMapping[str, object], key: str, text: str) -> None:
    if key not in (*ROW_TEXTS, *ROW_ARRAYS):
        known = (*ROW_TEXTS, *ROW_ARRAYS)
        raise UsageError(f"a row has no key {quote(key)}{suggest(key, known)}", hint=f"it has {list_words(known)}")
    if not text:
        row.pop(key, None)
    elif key in ROW_TEXTS:
        row[key] = text
    else:
        row[key] = [part.strip() for part in text.split(",")]


def _find_pin(pins: Sequence[str], wheel: str, candidate: str) -> int:
    try:
        name = canonicalize_name(parse_pin(wheel).name)
    except ValueError as error:
        raise UsageError(str(error), hint="for example jax==0.6.3") from error
    names = [canonicalize_name(parse_pin(pin).name) for pin in pins]
    if name not in names:
        raise UsageError(f"candidate {candidate} has no wheel {name}{suggest(name, names)}", hint="edit matrix.toml")
    return names.index(name)


def _public_version(pin: str) -> str:
    return Version(next(iter(parse_pin(pin).specifier)).version).public


def _rename(document: tomlkit.TOMLDocument, old: str, new: str) -> str:
    """The document's text with a candidate renamed where it stands and in the rows that name it."""
    candidates = cast("MutableMapping[str, object]", document["candidates"])
    if old != new and new in candidates:
        raise UsageError(f"candidate {new} exists already", hint="name it in a row instead: rockiln matrix add")
    for row in cast("AoT", document["target"]):
        names = cast("list[str]", row["candidates"])
        for index, name in enumerate(names):
            if name == old:
                names[index] = new
    header = re.compile(rf'^\[candidates\.("?){re.escape(old)}\1\]', re.MULTILINE)  # tomlkit has no rename
    return header.sub(f'[candidates."{new}"]', tomlkit.dumps(document))
