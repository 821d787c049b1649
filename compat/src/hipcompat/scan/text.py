"""Bytes of any file → Text: characters one a byte, where its lines begin, and whether it is text at all."""

from __future__ import annotations

import bisect
import codecs
import re
from dataclasses import dataclass, field

_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"), (codecs.BOM_UTF8, ""),
)  # fmt: skip

_LONGEST_LINE = 1_000
_NEWLINE = re.compile("\n")


@dataclass(slots=True)
class Text:
    """A file's text. `raw` holds UTF-8 (or whatever 8-bit bytes there are) as Latin-1: one character is one byte."""

    raw: str
    _lines: list[int] = field(default_factory=list)
    _last: tuple[int, int, int] = (0, 0, 1)
    """Line start, offset and column of the place that was asked for last: many places of a long line cost no more."""

    def find_position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1; columns count characters."""
        if not self._lines:
            self._lines = [0, *(match.end() for match in _NEWLINE.finditer(self.raw))]
        line = bisect.bisect_right(self._lines, offset)
        start = self._lines[line - 1]
        known_start, known_offset, known_column = self._last
        if known_start != start or known_offset > offset:
            known_offset, known_column = start, 1
        column = known_column + len(show(self.raw[known_offset:offset]))
        self._last = (start, offset, column)
        return line, column

    def line_at(self, offset: int) -> str:
        """The line that holds `offset`, as a person reads it, without its end; of a long one, the beginning."""
        start = self.raw.rfind("\n", 0, offset) + 1
        end = self.raw.find("\n", start, start + _LONGEST_LINE)
        return show(self.raw[start : end if end >= 0 else start + _LONGEST_LINE]).rstrip("\r")


def show(raw: str) -> str:
    """One character a byte → characters: UTF-8 where it is that, else Latin-1."""
    content = raw.encode("latin-1")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return raw


def is_binary(content: bytes) -> bool:
    """A NUL byte among the first 8 KB, and no byte order mark that explains it."""
    return b"\0" in content[:8192] and not content.startswith(tuple(mark for mark, _ in _BOMS))


def read_text(content: bytes) -> Text:
    """Any bytes that are not binary."""
    for mark, encoding in _BOMS:
        if content.startswith(mark):
            body = content[len(mark) :]
            decoded = body.decode(encoding, "replace").encode("utf-8", "replace") if encoding else body
            return Text(decoded.decode("latin-1"))
    return Text(content.decode("latin-1"))
