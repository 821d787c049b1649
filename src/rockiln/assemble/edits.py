"""Unpacked wheels + the recipe's [[edit]]s → Unpacked with those files changed, each checked before and after."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Sequence
from dataclasses import replace

from rockiln.contents import Content, Contents
from rockiln.errors import AssembleError
from rockiln.manifest import Entry, Unpacked
from rockiln.recipe import FileEdit
from rockiln.record_rows import read_rows


def apply_edits(
    unpacked: Sequence[Unpacked], edits: Sequence[FileEdit], contents: Contents
) -> tuple[Unpacked, ...]:
    """The same artifacts, with each edit applied to the file of its owner, and the owner's RECORD kept true."""
    by_owner = {one.artifact.owner: one for one in unpacked}
    for edit in edits:
        one = by_owner.get(edit.owner)
        if one is None:
            raise AssembleError(f"edit of {edit.path}: the image has no {edit.owner}", hint=_HINT)
        by_owner[edit.owner] = _apply(one, edit, contents)
    return tuple(by_owner[one.artifact.owner] for one in unpacked)


_HINT = "remove the [[edit]] from the recipe, or limit it with `when` to the versions it was made for"


def _apply(one: Unpacked, edit: FileEdit, contents: Contents) -> Unpacked:
    entry = next((entry for entry in one.entries if entry.path == edit.path), None)
    if entry is None or entry.kind != "file":
        raise AssembleError(f"edit of {edit.path}: {edit.owner} {one.artifact.version} has no such file", hint=_HINT)
    content = contents.put_bytes(_change(edit, entry, contents))
    if content.sha256 != edit.sha256_after:
        message = f"edit of {edit.path}: the result has sha256 {content.sha256}, not {edit.sha256_after}"
        raise AssembleError(message, hint="correct sha256-after in the recipe once the result is what you want")
    changed = {edit.path: entry._replace(sha256=content.sha256, size_bytes=content.size_bytes)}
    if one.wheel:
        changed |= _change_record(one, edit.path, content, contents)
    return replace(one, entries=tuple(changed.get(entry.path, entry) for entry in one.entries))


def _change(edit: FileEdit, entry: Entry, contents: Contents) -> bytes:
    if entry.sha256 != edit.sha256_before:
        message = f"edit of {edit.path}: the file has sha256 {entry.sha256}, not {edit.sha256_before}"
        raise AssembleError(message, hint=_HINT)
    text = contents.read_bytes(entry.sha256)
    count = text.count(edit.replace.encode())
    if count != 1:
        message = f"edit of {edit.path}: the text to replace occurs {count} times"
        raise AssembleError(message, hint="make `replace` longer, so that it occurs exactly once")
    return text.replace(edit.replace.encode(), edit.text.encode())


def _change_record(one: Unpacked, path: str, content: Content, contents: Contents) -> dict[str, Entry]:
    """RECORD with the new hash and size of `path`."""
    dist_info = one.wheel.dist_info if one.wheel else ""
    record = next((entry for entry in one.entries if entry.path.endswith(f"{dist_info}/RECORD")), None)
    if record is None:
        return {}
    folder = record.path.removesuffix(f"{dist_info}/RECORD")
    digest = base64.urlsafe_b64encode(bytes.fromhex(content.sha256)).decode().rstrip("=")
    rows = [row for row, _ in read_rows(contents.read_bytes(record.sha256).decode())]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        is_changed = row and row[0] == path.removeprefix(folder)
        writer.writerow([row[0], f"sha256={digest}", str(content.size_bytes)] if is_changed else row)
    written = contents.put_bytes(text.getvalue().encode())
    return {record.path: record._replace(sha256=written.sha256, size_bytes=written.size_bytes)}

