"""A word after `hipcompat` → its help, its arguments and its answer: the one table of verbs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from hipcompat.answer import Answer
from hipcompat.verbs import facts, flags, scan


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One word after `hipcompat`."""

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    answer: Callable[[argparse.Namespace], Answer]


def _verb(name: str, help_text: str, module: object) -> Verb:
    return Verb(
        name=name,
        help=help_text,
        add_arguments=module.add_arguments,  # type: ignore[attr-defined]  # each verb module has both
        answer=module.answer,  # type: ignore[attr-defined]
    )


VERBS = (
    _verb("facts", "say what HIP calls a name of CUDA, by which source, and since when", facts),
    _verb("scan", "find what breaks on ROCm in CUDA code, Python and build files", scan),
    _verb("flags", "turn nvcc's arguments into clang's, and say what was dropped and why", flags),
)
