"""Text and edits → text: replacements at places of the file, applied at once; overlapping ones are refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Edit:
    """What stands from `start` to `end` becomes `text`. start == end inserts."""

    start: int
    end: int
    text: str


def apply_edits(raw: str, edits: Iterable[Edit]) -> str:
    """Edits in any order. One that begins inside an earlier one is dropped: the outer one rewrote that place."""
    parts: list[str] = []
    at = 0
    for edit in sorted(edits):
        if edit.start < at:
            continue
        parts += (raw[at : edit.start], edit.text)
        at = edit.end
    return "".join((*parts, raw[at:]))
