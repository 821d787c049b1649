"""build/TARGET/STAGE.json → the value that a stage left there, if it is what the build or smoke noted beside it.

A note holds the hash of each value, and a hash of itself: a file that was cut, changed or mixed with those of another
build is named, whoever reads it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rockiln.errors import UsageError
from rockiln.jsonable import dump
from rockiln.sealed import read_sealed, write_sealed

FORMAT = 2
"""Raised when values get other fields: those of an older rockiln are made again."""
BUILT, SMOKED = "built", "smoked"
"""Notes in a target's folder: of the last build, and of the last smoke."""
FETCHED = ("lock", "fetch")
"""`rockiln fetch` writes these too, after a build or before the first: they are no part of what a build vouches for."""


def make_note(folder: Path, names: Iterable[str], **facts: str) -> bytes:
    """The text of a note: facts, and the hashes of the files `names` in a target's folder."""
    files = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    return dump({**facts, "format": FORMAT, "files": files}).encode()


def note_smoke(folder: Path) -> None:
    """Vouch for the smoke.json that was just written."""
    write_sealed(folder / SMOKED, make_note(folder, ("smoke.json",)))


def read_note(path: Path) -> dict[str, Any]:
    """What a note says; nothing where there is none, or a damaged one."""
    body = read_sealed(path)
    note: dict[str, Any] = json.loads(body) if body else {}
    return note


def require_ended(folder: Path, digest: str) -> None:
    """What goes out is what a build finished: a note of it, its audit among what it vouches for, and this image.

    Raises UsageError. What `rockiln fetch` may have written since is not compared.
    """
    hint = f"rockiln build {folder.name}"
    note = read_note(folder / BUILT)
    if not note:
        what = "damaged" if (folder / BUILT).exists() else "not there: its build did not end"
        raise UsageError(f"{folder.name} is not built: {folder / BUILT} is {what}", hint=hint)
    files = _list_noted(note)
    apart = {f"{stage}.json" for stage in FETCHED}
    for name in sorted({"audit.json", *files} - apart):
        if _hash_file(folder / name) != files.get(name):
            what = "missing, damaged, or left by an unfinished build or another rockiln"
            raise UsageError(f"{folder.name} is not built: {folder / name} is {what}", hint=f"{hint} writes it anew")
    if note.get("digest") != digest:
        raise UsageError(f"{folder.name} is not built: its image is not the one that its build noted", hint=hint)


def _hash_file(path: Path) -> str:
    """What it is now; "" where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def has_value(folder: Path, stage: str) -> bool:
    """Whether the stage left something, damaged or not."""
    return (folder / f"{stage}.json").exists()


def read_text(folder: Path, stage: str) -> str:
    """The JSON of a stage of the target whose folder it is. Raises UsageError where there is none, or another one."""
    path = folder / f"{stage}.json"
    hint = f"rockiln {'smoke' if stage == 'smoke' else 'build'} {folder.name}"
    try:
        content = path.read_bytes()
        text = content.decode("utf-8")
    except FileNotFoundError:
        raise UsageError(f"{folder.name} has no {stage} yet: it is not built", hint=hint) from None
    except OSError as fault:
        raise UsageError(f"{path}: cannot be read: {fault.strerror}", hint=f"{hint} writes it anew") from fault
    except UnicodeDecodeError as fault:
        raise UsageError(f"{path}: no UTF-8 text", hint=f"{hint} writes it anew") from fault
    if stage not in FETCHED and hashlib.sha256(content).hexdigest() != _read_noted(folder, path.name):
        what = "damaged, or left by an unfinished build or another rockiln"
        raise UsageError(f"{path} is {what}", hint=f"{hint} writes it anew")
    return text


def read_value(folder: Path, stage: str) -> Any:
    """The same, decoded."""
    text = read_text(folder, stage)
    try:
        return json.loads(text)
    except ValueError as fault:
        hint = f"rockiln build {folder.name} writes it anew"
        raise UsageError(f"{folder / stage}.json is damaged: {fault}", hint=hint) from fault


def _read_noted(folder: Path, name: str) -> str:
    """The hash under which a file was noted; "" where it was not, or in the form of another rockiln."""
    return _list_noted(read_note(folder / (SMOKED if name == "smoke.json" else BUILT))).get(name, "")


def _list_noted(note: Mapping[str, Any]) -> dict[str, str]:
    """File → its hash; nothing in the form of another rockiln."""
    files: dict[str, str] = note["files"] if note.get("format") == FORMAT else {}
    return files
