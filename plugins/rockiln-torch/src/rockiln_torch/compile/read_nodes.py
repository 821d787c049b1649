"""A node of torch.compile's graph → one word for what it does, whether spelled as function, method or operator."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node
from torch.nn import functional

CASTS = frozenset({"to", "float", "half", "bfloat16", "double", "type", "type_as"})
_NUMBERS = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})
_OF_TWO = frozenset({"add", "mul", "div", "pow", "matmul"})
_BY_NAME = frozenset({"rms_norm", "sdpa"})
"""Those whose arguments patterns read by place or name."""
_FUNCTIONS: dict[Callable[..., Any], str] = {
    operator.add: "add", torch.add: "add", operator.iadd: "add",
    operator.mul: "mul", torch.mul: "mul", torch.multiply: "mul", operator.imul: "mul",
    operator.truediv: "div", torch.div: "div",
    operator.neg: "neg", torch.neg: "neg",
    operator.pow: "pow", torch.pow: "pow", torch.square: "square",
    operator.matmul: "matmul", torch.matmul: "matmul",
    operator.getitem: "getitem",
    torch.rsqrt: "rsqrt", torch.mean: "mean", torch.cat: "cat", torch.concat: "cat", torch.chunk: "chunk",
    torch.softmax: "softmax", functional.softmax: "softmax", functional.silu: "silu", torch.transpose: "transpose",
    functional.scaled_dot_product_attention: "sdpa", functional.rms_norm: "rms_norm", torch.rms_norm: "rms_norm",
    torch.cos: "cos", torch.sin: "sin", torch.unsqueeze: "unsqueeze", functional.dropout: "dropout",
}  # fmt: skip


def name_action(node: object) -> str:
    """ "mul", "rsqrt", ...; "" for what is no call, none that patterns know, or one with more to it (`add`'s alpha)."""
    if not isinstance(node, Node) or node.op not in {"call_method", "call_function"}:
        return ""
    name = str(node.target) if node.op == "call_method" else _FUNCTIONS.get(node.target, "")  # type: ignore[arg-type]
    if name in _OF_TWO:
        return name if len(node.args) == 2 and not node.kwargs else ""
    return name if node.args or name in _BY_NAME else ""


def is_action(node: object, *names: str) -> bool:
    """Whether a node does one of these."""
    return bool(name_action(node)) and name_action(node) in names


def strip_casts(node: Any) -> Any:
    """What is behind conversions between wide numbers; those to whole numbers or codes, or another device, do more."""
    while is_action(node, *CASTS) and _is_of_numbers(node.args[0], node):
        node = node.args[0]
    return node


def _is_of_numbers(given: object, made: object) -> bool:
    one, other = find_value(given), find_value(made)
    return one is not None and other is not None and {one.dtype, other.dtype} <= _NUMBERS and one.device == other.device


def read_argument(node: Node, place: int, name: str, default: Any = None) -> Any:
    """An argument by place or name."""
    return node.args[place] if len(node.args) > place else node.kwargs.get(name, default)


def read_pair(node: Node) -> tuple[Any, Any]:
    """The two operands."""
    return node.args[0], node.args[1]


def find_value(node: object) -> torch.Tensor | None:
    """The fake tensor that a node gives, None where that is unknown or none."""
    value = node.meta.get("example_value") if isinstance(node, Node) else None
    return value if isinstance(value, torch.Tensor) else None


def read_number(value: object) -> float | None:
    """A number of the source, None for what is computed."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def read_size(value: object) -> int | torch.SymInt | None:
    """A whole number of the source, or that of a node, which has a symbol where sizes are dynamic."""
    own = value.meta.get("example_value") if isinstance(value, Node) else value
    return own if isinstance(own, int | torch.SymInt) and not isinstance(own, bool) else None
