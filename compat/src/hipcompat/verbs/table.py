"""A word after `hipcompat` → its help, its arguments and its answer: the one table of verbs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from hipcompat.answer import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One word after `hipcompat`."""

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    answer: Callable[[argparse.Namespace], Answer]


def _verb(name: str, help_text: str) -> Verb:
    """A verb of the module of its name, imported when it is asked for: the doctor must not wait for the scanner."""

    def find() -> Any:  # a module; each verb's has both functions
        return import_module(f"hipcompat.verbs.{name}")

    return Verb(
        name=name,
        help=help_text,
        add_arguments=lambda parser: find().add_arguments(parser),
        answer=lambda args: cast(Answer, find().answer(args)),
    )


VERBS = (
    _verb("facts", "say what HIP calls a name of CUDA, by which source, and since when"),
    _verb("scan", "find what breaks on ROCm in CUDA code, Python and build files"),
    _verb("flags", "turn nvcc's arguments into clang's, and say what was dropped and why"),
    _verb("translate", "turn CUDA source into HIP source, or say how it compiles as it is"),
    _verb("check", "compile and assemble device code for AMD's GPUs, and name each error's line"),
    _verb("doctor", "say what keeps the GPUs from being used on this machine or in this container"),
    _verb("run", "run a Python script with the shims that are asked for"),
)
