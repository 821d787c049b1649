"""A formula over dims ("cdiv(M, 64) * H") → its value. Manifests carry formulas as text; nothing else is evaluated."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache

Value = int | float | bool
Names = Mapping[str, Value]

_BINARY: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Value, Value], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def ceil_divide(value: Value, divisor: Value) -> Value:
    """The quotient rounded up."""
    return -(-value // divisor)


def next_power_of_two(value: Value) -> int:
    """The smallest power of two that is at least `value` and at least 1."""
    return 1 << max(0, int(value) - 1).bit_length()


_CALLS: dict[str, Callable[..., Value]] = {
    "cdiv": ceil_divide,
    "min": min,
    "max": max,
    "pow2": next_power_of_two,
}


@lru_cache(maxsize=4096)
def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"{text!r} is no formula: {error.msg}") from error


def evaluate_expression(text: str, names: Names) -> Value:
    """The value of `text`: integers, names, + - * // %, comparisons, and/or/not, cdiv, min, max, pow2.

    Raises KeyError for a name that is not in `names`, and ValueError for anything else than a formula.
    """
    return _evaluate(_parse(text), names)


def read_names(text: str) -> frozenset[str]:
    """The names that `text` needs to be evaluated."""
    nodes = [node for node in ast.walk(_parse(text)) if isinstance(node, ast.Name)]
    return frozenset(node.id for node in nodes) - _CALLS.keys()


def _evaluate(node: ast.expr, names: Names) -> Value:
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.Name(id=name):
            return names[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_evaluate(left, names), _evaluate(right, names))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
            return _COMPARE[type(op)](_evaluate(left, names), _evaluate(right, names))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS:
            return _CALLS[name](*(_evaluate(arg, names) for arg in args))
        case _:
            return _evaluate_logic(node, names)


def _evaluate_logic(node: ast.expr, names: Names) -> Value:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, names)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _evaluate(operand, names)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_evaluate(value, names) for value in values)
        case ast.BoolOp(values=values):
            return any(_evaluate(value, names) for value in values)
        case _:
            raise ValueError(f"{ast.unparse(node)!r} is not allowed in a formula")
