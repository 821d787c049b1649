"""Text of C, C++ or CUDA → Code: the same text with comments and literals blanked, and the literals apart.

Offsets in `Code.text` differ from the file's only where lines were spliced (backslash, newline); `origin` maps back.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_SPLICE = re.compile(r"\\[ \t]*\r?\n")
_OPAQUE = re.compile(
    r"""[/"'](?:"""
    r"(?<=/)(?:/[^\n]*|\*[^*]*(?:\*(?!/)[^*]*)*(?:\*/)?)"
    r'|(?<=R")([^()\\\s"]{0,16})\('
    r'|(?<=")[^"\\\n]*(?:\\(?s:.)[^"\\\n]*)*"?'
    r"|(?<=')(?:[^'\\\n]|\\.){1,8}')",
    re.ASCII,
)
"""A comment, the beginning of a raw string, a string, a character; an unterminated one ends with its line, a comment or
raw string with the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """`text` after splicing; `code` has its length, with blanks for comments, and for what literals hold."""

    text: str
    code: str
    literals: tuple[tuple[int, int], ...]
    """Start and end of each string literal, quotes included."""
    _splices: Sequence[int]
    _removed: Sequence[int]

    def origin(self, offset: int) -> int:
        """An offset in `text` → the offset in the file."""
        count = bisect.bisect_right(self._splices, offset)
        return offset + (self._removed[count - 1] if count else 0)

    def literals_between(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        """The string literals that begin in a stretch."""
        first, last = (bisect.bisect_left(self.literals, (offset, 0)) for offset in (start, end))
        return self.literals[first:last]


def lex(raw: str) -> Code:
    """Never fails: text that is no C++ gives blanks in odd places, and nothing worse."""
    text, splices, removed = _join_lines(raw)
    literals: list[tuple[int, int]] = []
    parts: list[str] = []
    at = 0
    for start, end in _find_opaque(text):
        found = text[start:end]
        parts.append(text[at:start])
        if found[0] == '"':
            literals.append((start, end))
            parts.append(f'"{_blank(found[1:-1])}"' if len(found) > 1 else '"')
        else:
            parts.append(_blank(found))
        at = end
    code = "".join((*parts, text[at:]))
    return Code(text=text, code=code, literals=tuple(literals), _splices=splices, _removed=removed)


def _find_opaque(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each comment and literal. A raw string's end is looked for once, so that time stays linear."""
    at = 0
    while at < len(text):
        for match in _OPAQUE.finditer(text, at):
            if match[1] is None:
                yield match.span()
                continue
            closing = text.find(f'){match[1]}"', match.end())
            at = closing + len(match[1]) + 2 if closing >= 0 else len(text)
            yield match.start(), at
            break
        else:
            return


def _blank(text: str) -> str:
    if "\n" not in text:
        return " " * len(text)
    return "\n".join([" " * len(line) for line in text.split("\n")])


def _join_lines(raw: str) -> tuple[str, list[int], list[int]]:
    """Spliced text, and after which offset how many characters are missing."""
    if "\\" not in raw or not (matches := list(_SPLICE.finditer(raw))):
        return raw, [], []
    parts, splices, removed = [], [], []
    at = length = total = 0
    for match in matches:
        parts.append(raw[at : match.start()])
        length += match.start() - at
        total += match.end() - match.start()
        splices.append(length)
        removed.append(total)
        at = match.end()
    parts.append(raw[at:])
    return "".join(parts), splices, removed
