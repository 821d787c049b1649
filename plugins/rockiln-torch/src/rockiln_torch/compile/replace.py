"""torch.compile's graph, before autograd has seen it → the same graph with rockiln's ops, and what was replaced."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from torch.fx import GraphModule, Node

from rockiln_torch.compile.patterns import PATTERNS, Found
from rockiln_torch.compile.writes import Writes


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """Op → how often it was put in place of its spelling, sorted."""

    counts: tuple[tuple[str, int], ...]


def replace_patterns(graph_module: GraphModule, names: Iterable[str] = tuple(PATTERNS)) -> Replacement:
    """Rewrite the graph in place. Raises ValueError for a name that is no pattern."""
    wanted = tuple(names)
    if unknown := sorted(set(wanted) - PATTERNS.keys()):
        raise ValueError(f"{unknown[0]!r} is no pattern; hint: one of {', '.join(PATTERNS)}")
    counts, writes = Counter[str](), Writes(graph_module.graph)
    for node in list(reversed(graph_module.graph.nodes)):
        if not _is_live(node):
            continue
        for name in wanted:
            found = PATTERNS[name](node)
            if found is None:
                continue
            inner = writes.list_inner(node, found)
            if not writes.is_crossed(inner, found.seen):
                _put_call(graph_module, inner, found)
                counts[name] += 1
                break
    if counts:
        graph_module.graph.lint()
        graph_module.recompile()
    return Replacement(counts=tuple(sorted(counts.items())))


def _is_live(node: Node) -> bool:
    """Not behind a node that was replaced a moment ago, and no in-place operator, whose input others may read."""
    return bool(node.users) and node.target not in {operator.iadd, operator.imul}


def _put_call(graph_module: GraphModule, inner: list[Node], found: Found) -> None:
    """In place of inner[0]; of the others goes what nobody else reads. fx's own clean-up would take writes, too."""
    node = inner[0]
    with graph_module.graph.inserting_after(node):
        call = graph_module.graph.call_function(found.function, found.args, found.kwargs)
    call.meta.update({key: value for key, value in node.meta.items() if key in {"example_value", "stack_trace"}})
    node.replace_all_uses_with(call)
    for one in inner:
        if not one.users and one.op in {"call_function", "call_method"}:
            graph_module.graph.erase_node(one)
