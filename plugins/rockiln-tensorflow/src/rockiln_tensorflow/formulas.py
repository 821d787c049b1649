"""A formula of an OpSpec ("cdiv(K, 128)") → the same in C++, over an array of int64 numbers."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from rockiln_kernels.expressions import read_names

_CALLS = {"cdiv": "ceil_divide", "min": "std::min<std::int64_t>", "max": "std::max<std::int64_t>"}
_INFIX: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
    ast.GtE: ">=",
}  # fmt: skip
_NAMED: dict[type[ast.AST], str] = {ast.FloorDiv: "floor_divide", ast.Mod: "modulo"}


def write_formula(text: str, places: Mapping[str, int]) -> str:
    """A C++ Formula: which names must be known, and a function of them. Raises ValueError for what has no C++ here."""
    needs = sum(1 << places[name] for name in read_names(text))
    body = _translate(ast.parse(text, mode="eval").body, places)
    argument = "const std::int64_t* n" if needs else "const std::int64_t*"
    return f"{{{needs}u, []({argument}) -> std::int64_t {{ return {body}; }}}}"


def _translate(node: ast.expr, places: Mapping[str, int]) -> str:
    match node:
        case ast.Constant(value=int() as value):
            return str(int(value))
        case ast.Name(id=name):
            return f"n[{places[name]}]"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _NAMED:
            return f"{_NAMED[type(op)]}({_translate(left, places)}, {_translate(right, places)})"
        case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]) if (
            type(op) in _INFIX
        ):
            return f"({_translate(left, places)} {_INFIX[type(op)]} {_translate(right, places)})"
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS:
            return f"{_CALLS[name]}({', '.join(_translate(arg, places) for arg in args)})"
        case ast.BoolOp(op=op, values=values):
            sign = " && " if isinstance(op, ast.And) else " || "
            return f"({sign.join(_translate(value, places) for value in values)})"
        case _:
            raise ValueError(f"{ast.unparse(node)!r} has no C++ here")
