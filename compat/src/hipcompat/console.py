"""Anybody's text, such as names of files and lines of source → text that a terminal shows and does not obey; counts."""

from __future__ import annotations

import io
import json
import os
import sys
from typing import Any, TextIO

from hipcompat.errors import CompatError


def printable(text: str) -> str:
    """`text` for one line: what a terminal would obey or not show is written as JSON escapes it.

    That is every character that is not printable (Unicode: control, format, separators but the blank, private,
    unassigned) and the bytes of a name that are not UTF-8: `\\u001b`, `\\n`, `\\udcff`. Inside JSON text it stays the
    same value.
    """
    return text if text.isprintable() else "".join(map(_escape, text))


def quote(text: str) -> str:
    """What somebody wrote, in quotes, within a message: escaped as `printable` does, and not as Python's repr."""
    return f"'{printable(text)}'"


def printable_lines(text: str) -> str:
    """The same for a whole text: its own line ends (LF and CRLF) and tabs stay."""
    return "\r\n".join("\n".join(map(_show_line, part.split("\n"))) for part in text.split("\r\n"))


class _Heedless(io.FileIO):
    """What cannot be written is let go."""

    def write(self, data: Any) -> int:  # as io's own stub has it
        try:
            return super().write(data)
        except OSError:
            return len(data)


def open_narration() -> TextIO:
    """Stderr in which nothing fails: closed, full or without a reader, it changes no result and no exit code."""
    if sys.stderr is None:  # closed when Python began; the next file to be opened would get its number
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    encoding = sys.stderr.encoding if sys.stderr else "utf-8"
    raw = io.BufferedWriter(_Heedless(2, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding=encoding, errors="backslashreplace", line_buffering=True)


def explain_error(error: CompatError) -> str:
    """The lines for stderr: what is wrong, and what to do."""
    hint = f"hint: {error.hint}\n" if error.hint else ""
    return printable_lines(f"hipcompat: error: {error.message}\n{hint}")


def _show_line(line: str) -> str:
    return "\t".join(map(printable, line.split("\t")))


def say_count(count: int, noun: str) -> str:
    """1 place, 2 places."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _escape(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]
