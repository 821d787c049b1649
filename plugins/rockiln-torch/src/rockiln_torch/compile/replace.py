"""torch.compile's graph, before autograd has seen it → the same graph with rockiln's ops, and what was replaced."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from torch.fx import GraphModule, Node

from rockiln_torch.compile.patterns import PATTERNS, Found


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """Op → how often it was put in place of its spelling, sorted."""

    counts: tuple[tuple[str, int], ...]


def replace_patterns(graph_module: GraphModule, names: Iterable[str] = tuple(PATTERNS)) -> Replacement:
    """Rewrite the graph in place. Raises ValueError for a name that is no pattern."""
    wanted = tuple(names)
    if unknown := sorted(set(wanted) - PATTERNS.keys()):
        raise ValueError(f"{unknown[0]!r} is no pattern; hint: one of {', '.join(PATTERNS)}")
    counts: Counter[str] = Counter()
    for node in list(reversed(graph_module.graph.nodes)):
        if not _is_live(node):
            continue
        for name in wanted:
            found = PATTERNS[name](node)
            if found is not None:
                _put_call(graph_module, node, found)
                counts[name] += 1
                break
    if counts:
        graph_module.graph.eliminate_dead_code()
        graph_module.graph.lint()
        graph_module.recompile()
    return Replacement(counts=tuple(sorted(counts.items())))


def _is_live(node: Node) -> bool:
    """Not behind a node that was replaced a moment ago, and no in-place operator, whose input others may read."""
    return bool(node.users) and node.target not in {operator.iadd, operator.imul}


def _put_call(graph_module: GraphModule, node: Node, found: Found) -> None:
    with graph_module.graph.inserting_after(node):
        call = graph_module.graph.call_function(found.function, found.args, found.kwargs)
    call.meta.update({key: value for key, value in node.meta.items() if key in {"example_value", "stack_trace"}})
    node.replace_all_uses_with(call)
    graph_module.graph.erase_node(node)
