"""Unit → its calls of some functions, with their arguments; kernel<int, 4> is one argument."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hipcompat.scan.detect.unit import Unit, names_declaration
from hipcompat.scan.regions import split_arguments

_IDENTIFIER = re.compile(r"(?<![\w.])(?<!->)(?:cu|hip)[A-Za-z]\w{4,}(?=\s*\()", re.ASCII)
_ANGLE = re.compile(r"(?<![<\s-])<(?![<=])|(?<![-=])>(?!=)")


@dataclass(frozen=True, slots=True)
class Call:
    """A call that is no declaration. `start` and `end` are the name's; arguments as `split_arguments` gives them."""

    name: str
    start: int
    end: int
    arguments: tuple[tuple[int, int], ...]


def find_calls(unit: Unit, names: frozenset[str]) -> Iterator[Call]:
    """In the order of the text. A call that does not close is none."""
    text = unit.text
    for match in _IDENTIFIER.finditer(text):
        if match.group() not in names or names_declaration(text, match.start()):
            continue
        arguments = split_call(text, text.index("(", match.end()))
        if arguments:
            yield Call(match.group(), match.start(), match.end(), arguments)


def split_call(text: str, opening: int) -> tuple[tuple[int, int], ...]:
    """`split_arguments`, with the commas of templates' arguments left inside; as it is where angles do not close."""
    arguments = split_arguments(text, opening)
    joined: list[tuple[int, int]] = []
    start, depth = -1, 0
    for begin, end in arguments:
        start = begin if start < 0 else start
        depth += sum(1 if match.group() == "<" else -1 for match in _ANGLE.finditer(text, begin, end))
        if depth <= 0:
            joined.append((start, end))
            start, depth = -1, 0
    return tuple(joined) if start < 0 else arguments
