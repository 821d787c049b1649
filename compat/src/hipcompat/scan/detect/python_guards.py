"""Tree of a Python file → what a ROCm build of torch never runs: the other side of torch.version.hip.

As the preprocessor's branches in C++, by three answers: a test is true there, or false, or nobody knows.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from hipcompat.scan.detect.python_flow import join_dotted, resolve
from hipcompat.scan.regions import merge_ranges

_BUILD = {"torch.version.hip": True, "torch.version.cuda": False}
"""Whether it is more than None in a ROCm build."""
_ASKS = re.compile(r"_?is_(?:hip|rocm)$", re.IGNORECASE)
"""Names that projects give to the answer, or to a function for it."""
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_DEEPEST = 16
_WIDEST = 1 << 32

Place = tuple[int, int]
"""Line and column, as ast counts them."""


def find_dead(tree: ast.AST, aliases: dict[str, str]) -> tuple[tuple[Place, Place], ...]:
    """Start and end of each stretch, sorted, without overlaps."""
    guards = _Guards(tree, aliases)
    ranges = [
        (_number(*start), _number(*end))
        for node in ast.walk(tree)
        for start, end in (*guards.find_branches(node), *guards.find_rests(node))
    ]
    return tuple((divmod(start, _WIDEST), divmod(end, _WIDEST)) for start, end in merge_ranges(ranges))


def _number(line: int, column: int) -> int:
    return line * _WIDEST + column


class _Guards:
    """What the tests of one file come to."""

    def __init__(self, tree: ast.AST, aliases: dict[str, str]) -> None:
        self._aliases = aliases
        self._values = dict(_find_single_values(tree))

    def find_branches(self, node: ast.AST) -> Iterator[tuple[Place, Place]]:
        """What one side of a test leaves out."""
        if isinstance(node, ast.If | ast.While):
            value = self._decide(node.test)
            dead = node.body if value is False else node.orelse if value and isinstance(node, ast.If) else []
            if dead:
                yield _begin(dead[0]), _end(dead[-1])
        elif isinstance(node, ast.IfExp) and (value := self._decide(node.test)) is not None:
            other = node.orelse if value else node.body
            yield _begin(other), _end(other)
        elif isinstance(node, ast.BoolOp):
            decisive = isinstance(node.op, ast.Or)
            for value_node, after in zip(node.values, node.values[1:], strict=False):
                if self._decide(value_node) is decisive:
                    yield _begin(after), _end(node.values[-1])
                    break

    def find_rests(self, node: ast.AST) -> Iterator[tuple[Place, Place]]:
        """What comes after a branch that is taken and leaves."""
        for block in (getattr(node, field, None) for field in ("body", "orelse", "finalbody")):
            if not isinstance(block, list):
                continue
            for statement in block:
                if isinstance(statement, ast.If) and statement is not block[-1] and self._leaves(statement):
                    yield _end(statement), _end(block[-1])
                    break

    def _leaves(self, statement: ast.If) -> bool:
        value = self._decide(statement.test)
        taken = [] if value is None else statement.body if value else statement.orelse
        return bool(taken) and isinstance(taken[-1], _LEAVES)

    def _decide(self, test: ast.expr, depth: int = 0) -> bool | None:
        """True, False, or None for what nobody knows, in a ROCm build."""
        if depth > _DEEPEST:
            return None
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            value = self._decide(test.operand, depth + 1)
            return None if value is None else not value
        if isinstance(test, ast.BoolOp):
            decisive = isinstance(test.op, ast.Or)
            values = [self._decide(part, depth + 1) for part in test.values]
            return decisive if decisive in values else None if None in values else not decisive
        if isinstance(test, ast.Compare):
            return self._compare(test, depth)
        return self._find(test, depth)

    def _compare(self, test: ast.Compare, depth: int) -> bool | None:
        """torch.version.hip is not None."""
        operation, right = test.ops[0], test.comparators[0]
        if len(test.ops) > 1 or not (isinstance(right, ast.Constant) and right.value is None):
            return None
        value = self._find_version(test.left, depth)
        if isinstance(operation, ast.IsNot | ast.NotEq):
            return value
        return None if value is None or not isinstance(operation, ast.Is | ast.Eq) else not value

    def _find(self, node: ast.expr, depth: int) -> bool | None:
        if (version := self._find_version(node, depth)) is not None:
            return version
        called = node.func if isinstance(node, ast.Call) else node
        if isinstance(node, ast.Call) and join_dotted(called) == "bool" and len(node.args) == 1:
            return self._decide(node.args[0], depth + 1)
        name = join_dotted(called)
        if name in self._values and (isinstance(node, ast.Call) == self._values[name][1]):
            return self._decide(self._values[name][0], depth + 1)
        return True if _ASKS.match(name.rpartition(".")[2]) else None

    def _find_version(self, node: ast.expr, depth: int) -> bool | None:
        """The attribute, getattr of it, or a name that holds it: whether there is one."""
        if isinstance(node, ast.Call) and join_dotted(node.func) == "getattr" and len(node.args) > 1:
            asked = node.args[1]
            part = asked.value if isinstance(asked, ast.Constant) and isinstance(asked.value, str) else ""
            return _BUILD.get(f"{resolve(join_dotted(node.args[0]), self._aliases)}.{part}")
        name = join_dotted(node)
        if name in self._values and not self._values[name][1] and depth <= _DEEPEST:
            return self._find_version(self._values[name][0], depth + 1)
        return _BUILD.get(resolve(name, self._aliases)) if name else None


def _find_single_values(tree: ast.AST) -> Iterator[tuple[str, tuple[ast.expr, bool]]]:
    """Names bound once in the file, with what they hold, or what a function without parameters returns, and True."""
    bound: Counter[str] = Counter()
    values: dict[str, tuple[ast.expr, bool]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound[node.id] += 1
        elif isinstance(node, ast.arg):
            bound[node.arg] += 1
        elif isinstance(node, ast.alias):
            bound[node.asname or node.name.partition(".")[0]] += 1
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs) and node.name:
            bound[node.name] += 1
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound[node.name] += 1
            if isinstance(node, ast.FunctionDef) and (answer := _find_answer(node)):
                values[node.name] = (answer, True)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            values[node.targets[0].id] = (node.value, False)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            values[node.target.id] = (node.value, False)
    yield from ((name, value) for name, value in values.items() if bound[name] == 1)


def _find_answer(node: ast.FunctionDef) -> ast.expr | None:
    """What it returns, where that is all it does."""
    told = [part for part in node.body if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))]
    only = told[-1] if told else None
    told = [part for part in told if not isinstance(part, ast.Import | ast.ImportFrom)]
    return only.value if len(told) == 1 and isinstance(only, ast.Return) else None


def _begin(node: ast.stmt | ast.expr) -> Place:
    return node.lineno, node.col_offset


def _end(node: ast.stmt | ast.expr) -> Place:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
