"""The name of a torch.compile backend → a backend that first puts rockiln's ops in place of spelled-out ones."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.fx import GraphModule

from rockiln_torch.compile.patterns import PATTERNS
from rockiln_torch.compile.replace import Replacement, replace_patterns

LOG = logging.getLogger("rockiln_torch.compile")
Backend = Callable[[GraphModule, list[torch.Tensor]], Callable[..., Any]]


def make_backend(
    inner: str = "inductor",
    *,
    patterns: Iterable[str] = tuple(PATTERNS),
    report: list[Replacement] | None = None,
) -> Backend:
    """For torch.compile(model, backend=make_backend()); `inner` compiles what comes out, forward and backward.

    Each graph's Replacement goes to the log (info) and is appended to `report`. Raises ValueError for a name that is no
    pattern, and what torch raises for an unknown backend.
    """
    names = tuple(patterns)
    if unknown := sorted(set(names) - PATTERNS.keys()):
        raise ValueError(f"{unknown[0]!r} is no pattern; hint: one of {', '.join(PATTERNS)}")
    compile_graph = torch._dynamo.lookup_backend(inner)  # noqa: SLF001  # torch.compile's own look-up has no other name

    def compile_with_ops(graph_module: GraphModule, inputs: list[torch.Tensor]) -> Callable[..., Any]:
        replacement = replace_patterns(graph_module, names)
        LOG.info("replaced %s", dict(replacement.counts))
        if report is not None:
            report.append(replacement)
        compiled: Callable[..., Any] = compile_graph(graph_module, inputs)
        return compiled

    return compile_with_ops
