"""A word after `hipcompat` → its help, its arguments, its exit codes and its answer: the one table of verbs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from hipcompat.answer import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One word after `hipcompat`. `exits`: what its codes mean, besides those of every verb (ALWAYS)."""

    name: str
    help: str
    examples: tuple[str, ...]
    exits: Mapping[int, str]
    add_arguments: Callable[[argparse.ArgumentParser], None]
    answer: Callable[[argparse.Namespace], Answer]


ALWAYS: Mapping[int, str] = {2: "the command line asks for something that does not exist", 130: "interrupted"}
_NO_FILE = "a path is missing or may not be read"


def _verb(name: str, help_text: str, *examples: str, exits: Mapping[int, str]) -> Verb:
    """A verb of the module of its name, imported when it is asked for: the doctor must not wait for the scanner."""

    def find() -> Any:  # a module; each verb's has both functions
        return import_module(f"hipcompat.verbs.{name}")

    return Verb(
        name=name,
        help=help_text,
        examples=examples,
        exits={0: "done", **exits},
        add_arguments=lambda parser: find().add_arguments(parser),
        answer=lambda args: cast(Answer, find().answer(args)),
    )


VERBS = (
    _verb(
        "facts", "say what HIP calls a name of CUDA, by which source, and since when",
        "hipcompat facts cudaMemcpyAsync cub::DeviceScan nccl.h", "hipcompat facts --stats",
        exits={6: "a name is no public name of CUDA; those that are known are told"},
    ),
    _verb(
        "scan", "find what breaks on ROCm in CUDA code, Python and build files",
        "hipcompat scan csrc setup.py --arch gfx942,gfx1100", "hipcompat scan . --format sarif > scan.sarif",
        exits={3: "a finding of --fail-on's severity or worse", 4: f"{_NO_FILE}, or nothing was read"},
    ),
    _verb(
        "flags", "turn nvcc's arguments into clang's, and say what was dropped and why",
        "hipcompat flags --arch gfx942 -- -O3 -use_fast_math -c k.cu -o k.o",
        exits={3: "an argument asks for what ROCm has not"},
    ),
    _verb(
        "translate", "turn CUDA source into HIP source, or say how it compiles as it is",
        "hipcompat translate csrc -o csrc_hip", "hipcompat translate csrc --mode shim",
        exits={3: "an error remains, or with --check a file would change", 4: _NO_FILE,
               7: "--rocm-path has no headers of HIP"},
    ),
    _verb(
        "check", "compile and assemble device code for AMD's GPUs, and name each error's line",
        "hipcompat check k.cu --arch gfx942,gfx950 -I include",
        exits={3: "a file does not compile", 4: _NO_FILE, 7: "no clang that can do it, or no headers of HIP"},
    ),
    _verb(
        "doctor", "say what keeps the GPUs from being used on this machine or in this container",
        "hipcompat doctor", "hipcompat doctor --quick --fail-on error",
        exits={3: "a finding of --fail-on's severity or worse", 4: "--root is no folder"},
    ),
    _verb(
        "run", "run a Python script with the shims that are asked for",
        "hipcompat run --pynvml train.py --epochs 3", "hipcompat run --pynvml -m package.train",
        exits={0: "the script ended well; else its own exit code", 1: "it ended with an exception",
               4: "the script is missing"},
    ),
)  # fmt: skip
