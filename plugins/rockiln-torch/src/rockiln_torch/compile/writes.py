"""torch.compile's graph → where it writes into tensors: what a pattern must not reach across.

The graph is one of calls in order, not yet functional: a tensor that is written in place has one value before, and
another behind. An op in a pattern's place reads all of its inputs where the pattern ended.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.fx import Graph, Node

from rockiln_torch.compile.patterns import Found

_OPERATORS = frozenset({
    operator.iadd, operator.iand, operator.ifloordiv, operator.ilshift, operator.imatmul, operator.imod, operator.imul,
    operator.ior, operator.ipow, operator.irshift, operator.isub, operator.itruediv, operator.ixor, operator.setitem,
})  # fmt: skip
_METHODS = frozenset(f"__{function.__name__}__" for function in _OPERATORS)


class Writes:
    """The writes of a graph as it was before anything was replaced."""

    def __init__(self, graph: Graph) -> None:
        """Look through it once."""
        self._places = {node: place for place, node in enumerate(graph.nodes)}
        self._targets = {node: targets for node in graph.nodes if (targets := list_written(node))}
        self._first_into: dict[Node, float] = {}

    def is_crossed(self, inner: Sequence[Node], seen: Iterable[Node]) -> bool:
        """Whether something is written between a pattern's first node and its last, or into what it looked through."""
        first, end = self._places[inner[-1]], self._places[inner[0]]
        return any(first <= self._places[node] <= end for node in self._targets) or any(
            self._find_first_into(node) < end for node in seen
        )

    def list_inner(self, last: Node, found: Found) -> list[Node]:
        """What an op is put in place of, from the last to the first: all between its arguments and its value."""
        stop = {arg for arg in found.args if isinstance(arg, Node)}
        inner = _walk([last], lambda node: [one for one in node.all_input_nodes if one not in stop])
        return sorted(inner, key=self._places.__getitem__, reverse=True)

    def _find_first_into(self, made: Node) -> float:
        """The place of the first write into a tensor, or into what is made of it, which may be a view."""
        if made not in self._first_into:
            own = _walk([made], lambda node: node.users)
            places = [self._places[node] for node, targets in self._targets.items() if not own.isdisjoint(targets)]
            self._first_into[made] = min(places, default=float("inf"))
        return self._first_into[made]


def list_written(node: Node) -> tuple[Node, ...]:
    """The arguments that a call writes into; all, where its function does not say which."""
    out = node.kwargs.get("out")
    if out is not None:
        return tuple(one for one in (out if isinstance(out, tuple | list) else (out,)) if isinstance(one, Node))
    target: Any = node.target
    if node.op == "call_method":
        is_write = target in _METHODS or (target.endswith("_") and not target.endswith("__"))
        return tuple(node.all_input_nodes[:1]) if is_write else ()
    if node.op != "call_function":
        return ()
    if target in _OPERATORS or _is_told_inplace(node):
        return tuple(node.all_input_nodes[:1])
    return tuple(node.all_input_nodes) if _is_writing_op(target) else ()


def _is_writing_op(target: Any) -> bool:
    if isinstance(target, torch._ops.OpOverload):  # noqa: SLF001  # torch has no other name for it
        return bool(target._schema.is_mutable)  # noqa: SLF001
    if isinstance(target, torch._ops.OpOverloadPacket):  # noqa: SLF001
        return any(getattr(target, name)._schema.is_mutable for name in target.overloads())  # noqa: SLF001
    name = str(getattr(target, "__name__", ""))
    return name.endswith(("_", "_mutation")) and not name.endswith("__")


def _is_told_inplace(node: Node) -> bool:
    """functional.silu(x, inplace=True), by name or by place."""
    if getattr(node.target, "__module__", "") != "torch.nn.functional":
        return bool(node.kwargs.get("inplace"))
    try:
        given = inspect.signature(node.target).bind(*node.args, **node.kwargs)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # functions of C have no signature, and no such argument
        return False
    return bool(given.arguments.get("inplace"))


def _walk(starts: Iterable[Node], follow: Callable[[Node], Iterable[Node]]) -> set[Node]:
    """All that can be reached, the starts included."""
    found, left = set[Node](), list(starts)
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left.extend(follow(node))
    return found
