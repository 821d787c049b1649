"""Text of a C header → the names it holds, and what kind each is. No preprocessing: a name under any #if counts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

Kind = Literal["function", "type", "enum", "macro"]

_BLANK = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_ENUM = re.compile(r"\benum\b[^;{(]*\{([^}]*)\}")
_ENUMERATOR = re.compile(r"(?:^|,)\s*([A-Za-z_]\w*)")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*(?:\\\n(?:[^\n\\]|\\.)*)*", re.MULTILINE)
_FUNCTION = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_TYPE = re.compile(
    r"\b(?:struct|class|union|enum)\s+(?:\w+\([^)]*\)\s*)*([A-Za-z_]\w*)|\}\s*([A-Za-z_]\w*)\s*;"
    r"|\btypedef\b[^;{}]*?([A-Za-z_]\w*)\s*;|\busing\s+([A-Za-z_]\w*)\s*="
)


def strip_comments(text: str) -> str:
    """Comments and string literals become one blank each."""
    return _BLANK.sub(" ", text.replace("\\\n", " "))


def find_identifiers(text: str) -> set[str]:
    """Every identifier outside comments and strings."""
    return set(_IDENTIFIER.findall(strip_comments(text)))


def find_names(text: str) -> dict[str, Kind]:
    """Names with their kinds; where a name is several things, the first of macro, enum, type, function counts last."""
    text = strip_comments(text)
    code = _DIRECTIVE.sub(" ", text)
    names: dict[str, Kind] = {}
    names |= dict.fromkeys(_FUNCTION.findall(code), "function")
    names |= dict.fromkeys((name for match in _TYPE.finditer(code) for name in match.groups() if name), "type")
    names |= dict.fromkeys(_find_enumerators(code), "enum")
    for name in _MACRO.findall(text):
        names.setdefault(name, "macro")
    return names


def _find_enumerators(code: str) -> Iterator[str]:
    for body in _ENUM.findall(code):
        yield from _ENUMERATOR.findall(body)
