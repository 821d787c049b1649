"""Text of a Python file → events: modules imported, dotted names, strings, comparisons; by ast, else by pattern."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["import", "name", "string", "compare"]
_IMPORT = re.compile(
    r"^[ \t]*(?:import[ \t]+([\w., \t]+)|from[ \t]+([\w.]+)[ \t]+import[ \t]+([\w, \t]+))", re.MULTILINE
)
_DOTTED = re.compile(r"(?<!\w)[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_STRING = re.compile(r"(?<![\w\\])[rRbBuUfF]{0,2}(\"\"\"|'''|\"|')((?s:.{0,4000}?))(?<!\\)\1")
_COMMENT = re.compile(r"(?m)^[ \t]*#[^\n]*")
LONGEST_AST = 2_000_000
"""Characters of a Python file beyond which the tree is not built: it takes fifty times as much memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something at an offset. `text` is a module, a dotted name, or what a string holds."""

    kind: Kind
    text: str
    start: int
    end: int
    body: int = -1
    """Where a string's content begins, where it stands in the file as it is."""


def read_events(raw: str) -> Iterator[Event]:
    """Never fails: what is no Python of this version is read by pattern."""
    if len(raw) > LONGEST_AST:
        yield from _read_by_pattern(raw)
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(raw.encode("latin-1"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield from _read_by_pattern(raw)
        return
    yield from _Reader(raw).read(tree)


class _Reader:
    """A tree and the offsets of its lines; columns of ast count UTF-8 bytes, as the raw text does."""

    def __init__(self, raw: str) -> None:
        self._raw = raw
        self._lines = [0]
        for match in re.finditer(r"\r\n|\r|\n", raw):
            self._lines.append(match.end())

    def read(self, tree: ast.AST) -> Iterator[Event]:
        inner: set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield self._event("import", alias.name, node)
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    yield self._event("import", f"{'.' * node.level}{node.module or ''}.{alias.name}", node)
            elif isinstance(node, ast.Attribute) and id(node) not in inner:
                name = _join_dotted(node, inner)
                if name:
                    yield self._event("name", name, node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield self._string(node, node.value)
            elif isinstance(node, ast.Compare):
                yield self._event("compare", ast.unparse(node)[:300] if _is_small(node) else "", node)

    def _event(self, kind: Kind, text: str, node: ast.stmt | ast.expr) -> Event:
        start, end = self._span(node)
        return Event(kind=kind, text=text, start=start, end=end)

    def _span(self, node: ast.stmt | ast.expr) -> tuple[int, int]:
        start = self._offset(node.lineno, node.col_offset)
        return start, self._offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)

    def _offset(self, line: int, column: int) -> int:
        return min(self._lines[min(line, len(self._lines)) - 1] + column, len(self._raw))

    def _string(self, node: ast.Constant, value: str) -> Event:
        start, end = self._span(node)
        quoted = re.match(r"[rRbBuU]{0,2}(\"\"\"|'''|\"|')", self._raw[start : start + 8])
        body = start + quoted.end() if quoted else -1
        return Event(kind="string", text=value, start=start, end=end, body=body)


def _is_small(node: ast.Compare) -> bool:
    return sum(1 for _ in ast.walk(node)) < 40


def _join_dotted(node: ast.Attribute, inner: set[int]) -> str:
    parts = [node.attr]
    value: ast.expr = node.value
    while isinstance(value, ast.Attribute):
        inner.add(id(value))
        parts.append(value.attr)
        value = value.value
    if isinstance(value, ast.Name):
        return ".".join((value.id, *reversed(parts)))
    return ""


def _read_by_pattern(raw: str) -> Iterator[Event]:
    text = _COMMENT.sub(lambda match: " " * len(match.group()), raw)
    for match in _IMPORT.finditer(text):
        for name in re.split(r"[\s,]+", (match[1] or match[3] or "").strip()):
            module = f"{match[2]}.{name}" if match[2] else name
            yield Event(kind="import", text=module, start=match.start(), end=match.end())
    for match in _DOTTED.finditer(text):
        yield Event(kind="name", text=match.group(), start=match.start(), end=match.end())
    for match in _STRING.finditer(text):
        yield Event(kind="string", text=match[2], start=match.start(), end=match.end(), body=match.start(2))
