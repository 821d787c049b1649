"""FileFacts of a target's last build ↔ build/TARGET/inspected: what did not change is not read again.

A row is a file's path, the sha256 of its content, and what was found in it; files that told nothing are rows too. The
whole file counts only for the same inspecting code and the same things looked for.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rockiln.audit.inspect_file import NOTHING, FileFacts, Wanted
from rockiln.audit.installed.elf_facts import ElfFacts
from rockiln.audit.leak_words import Leak
from rockiln.sealed import read_sealed, write_sealed
from rockiln.source_tree import hash_tree

_BYTES = "latin-1"
"""Symbol names and texts as JSON strings, one character a byte."""
_INSPECTORS = ("audit", "fatbin", "kernel_data")

Remembered = dict[tuple[str, str], FileFacts]
"""(path, sha256 of the content) → facts."""


def read_remembered(path: Path, wanted: Wanted) -> Remembered:
    """What the last build of the target saw; nothing where it is missing or damaged, or looked for other things."""
    try:
        value = json.loads(read_sealed(path) or b"null")
        if value["key"] != _make_key(wanted):
            return {}
        return {(name, sha256): _decode(found) for name, sha256, found in value["files"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def write_remembered(path: Path, wanted: Wanted, hashes: Mapping[str, str], facts: Mapping[str, FileFacts]) -> None:
    """Keep what `hashes` (path → sha256) names, whole or not at all; a file that could not be read is tried again."""
    found = ((name, sha256, facts.get(name, NOTHING)) for name, sha256 in hashes.items())
    rows = [[name, sha256, _encode(one)] for name, sha256, one in found if not one.fault]
    write_sealed(path, json.dumps({"key": _make_key(wanted), "files": rows}, separators=(",", ":")).encode())


def _make_key(wanted: Wanted) -> str:
    package = Path(__file__).parents[1]
    parts = (repr(wanted), *(hash_tree(package / name) for name in _INSPECTORS))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _encode(facts: FileFacts) -> dict[str, Any] | None:
    if facts == NOTHING:
        return None
    value = {field.name: getattr(facts, field.name) for field in dataclasses.fields(facts)}
    if facts.text is not None:
        value["text"] = facts.text.decode(_BYTES)
    if facts.elf:
        elf = {field.name: getattr(facts.elf, field.name) for field in dataclasses.fields(facts.elf)}
        value["elf"] = {name: one.decode(_BYTES) if isinstance(one, bytes) else one for name, one in elf.items()}
    return {name: one for name, one in value.items() if one}


def _decode(value: dict[str, Any] | None) -> FileFacts:
    if value is None:
        return NOTHING
    if "text" in value:
        value["text"] = value["text"].encode(_BYTES)
    if "elf" in value:
        value["elf"] = _decode_elf(value["elf"])
    value["targets"] = tuple(value.get("targets", ()))
    value["leaks"] = tuple(Leak(*leak) for leak in value.get("leaks", ()))
    return FileFacts(**value)


def _decode_elf(value: dict[str, Any]) -> ElfFacts:
    for name in ("defined", "undefined"):
        value[name] = value[name].encode(_BYTES)
    for name in ("needed", "rpath", "runpath", "versions", "opens"):
        value[name] = tuple(value[name])
    value["version_needs"] = tuple((soname, version) for soname, version in value["version_needs"])
    return ElfFacts(**value)
