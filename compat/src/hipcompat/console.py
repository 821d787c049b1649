"""Anybody's text, such as names of files and lines of source → text that a terminal shows and does not obey; counts."""

from __future__ import annotations

import json


def printable(text: str) -> str:
    """`text` for one line: what a terminal would obey or not show is written as JSON escapes it.

    That is every character that is not printable (Unicode: control, format, separators but the blank, private,
    unassigned) and the bytes of a name that are not UTF-8: `\\u001b`, `\\n`, `\\udcff`. Inside JSON text it stays the
    same value.
    """
    return text if text.isprintable() else "".join(map(_escape, text))


def printable_lines(text: str) -> str:
    """The same for a whole text: its own line ends and tabs stay."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def say_count(count: int, noun: str) -> str:
    """1 place, 2 places."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _escape(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]
