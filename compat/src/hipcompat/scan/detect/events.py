"""Text of a Python file → events: modules imported, dotted names, strings, comparisons; by ast, else by pattern."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from hipcompat.scan.detect.python_flow import (
    VERSION,
    find_aliases,
    find_capability_compares,
    find_version_uses,
    join_dotted,
    resolve,
)  # fmt: skip
from hipcompat.scan.detect.python_guards import find_dead
from hipcompat.scan.regions import is_inside

Kind = Literal["import", "name", "string", "compare", "capability", "version", "keyword"]
_IMPORT = re.compile(
    r"^[ \t]*(?:import[ \t]+([\w., \t]+)|from[ \t]+([\w.]+)[ \t]+import[ \t]+([\w, \t]+))", re.MULTILINE
)
_DOTTED = re.compile(r"(?<!\w)[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_STRING = re.compile(r"(?<![\w\\])[rRbBuUfF]{0,2}(\"\"\"|'''|\"|')((?s:.{0,4000}?))(?<!\\)\1")
_COMMENT = re.compile(r"(?m)^[ \t]*#[^\n]*")
LAUNCH = frozenset(("num_ctas", "num_warps"))
"""Keywords of a launch by Triton that are events, where they have a constant."""
_KEYWORD = re.compile(r"\b(num_ctas|num_warps)\s*=\s*(\d+)\b")
_GUARDS = re.compile(
    r"version(?:\.(?:hip|cuda)\b|\s*,|\s+import\b)|import\b.*version\b|is_(?:hip|rocm)\b", re.IGNORECASE
)
LONGEST_AST = 2_000_000
"""Characters of a Python file beyond which the tree is not built: it takes fifty times as much memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something at an offset. `text` is a module, a dotted name, or what a string holds.

    Of a comparison of compute capabilities that was found by following a value, its text; of a version, what raises.
    """

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
        """What a ROCm build of torch may come to."""
        aliases = find_aliases(tree)
        dead = find_dead(tree, aliases) if _GUARDS.search(self._raw) else ()
        found = tuple((self._offset(*start), self._offset(*end)) for start, end in dead)
        yield from (event for event in self._read_all(tree, aliases) if not is_inside(found, event.start))

    def _read_all(self, tree: ast.AST, aliases: dict[str, str]) -> Iterator[Event]:
        yield from self._read_values(tree, aliases)
        inner: set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and id(node) not in inner:
                _leave_out_inner(node, inner)
                name = resolve(join_dotted(node), aliases)
                if name and name != VERSION and not name.startswith(f"{VERSION}."):
                    yield self._event("name", name, node)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                yield from self._read_import(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield self._string(node, node.value)
            elif isinstance(node, ast.keyword) and node.arg in LAUNCH and isinstance(node.value, ast.Constant):
                start = self._offset(node.lineno, node.col_offset)
                end = self._span(node.value)[1]
                yield Event(kind="keyword", text=f"{node.arg}={node.value.value!r}", start=start, end=end)
            elif isinstance(node, ast.Compare):
                yield self._event("compare", ast.unparse(node)[:300] if _is_small(node) else "", node)

    def _read_values(self, tree: ast.AST, aliases: dict[str, str]) -> Iterator[Event]:
        """What comes to a place through names of the file."""
        if "apability" in self._raw:
            for compare in find_capability_compares(tree):
                yield self._event("capability", ast.unparse(compare)[:80] if _is_small(compare) else "", compare)
        if all(word in self._raw for word in ("torch", "version", "cuda")):
            for use in find_version_uses(tree, aliases):
                yield self._event("version", use.raises, use.node)

    def _read_import(self, node: ast.Import | ast.ImportFrom) -> Iterator[Event]:
        before = f"{'.' * node.level}{node.module or ''}." if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            yield self._event("import", f"{before}{alias.name}", node)

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


def _leave_out_inner(node: ast.Attribute, inner: set[int]) -> None:
    """Of a.b.c, no event for a.b."""
    value: ast.expr = node.value
    while isinstance(value, ast.Attribute):
        inner.add(id(value))
        value = value.value


def _read_by_pattern(raw: str) -> Iterator[Event]:
    text = _COMMENT.sub(lambda match: " " * len(match.group()), raw)
    for match in _IMPORT.finditer(text):
        for name in re.split(r"[\s,]+", (match[1] or match[3] or "").strip()):
            module = f"{match[2]}.{name}" if match[2] else name
            yield Event(kind="import", text=module, start=match.start(), end=match.end())
    for match in _DOTTED.finditer(text):
        yield Event(kind="name", text=match.group(), start=match.start(), end=match.end())
    for match in _KEYWORD.finditer(text):
        yield Event(kind="keyword", text=f"{match[1]}={match[2]}", start=match.start(), end=match.end())
    for match in _STRING.finditer(text):
        yield Event(kind="string", text=match[2], start=match.start(), end=match.end(), body=match.start(2))
