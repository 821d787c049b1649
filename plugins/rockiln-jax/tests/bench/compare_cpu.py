"""Compositions and spellings, both jitted, in turn in one process → ratios; and what calls and the import cost.

`python tests/bench/compare_cpu.py [--rounds N] [--only OP] [--pairs N] [--json PATH]`, from plugins/rockiln-jax. CPU
time of the process, on one core: what other programs take does not count, though what they do to the caches does.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before JAX counts the cores for its threads
os.environ["JAX_PLATFORMS"] = "cpu"
sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[3] / "rockiln-kernels" / "tests")]

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

from bench.spellings import Timed, list_calls, rms_norm  # noqa: E402
from harness.in_turn import compare_pair, time_ways, write_row  # noqa: E402
from rockiln_jax import ops  # noqa: E402

IMPORTS = ("import jax", "import jax, rockiln_jax", "import jax; from rockiln_jax import nn, ops; ops.rms_norm")


def finish(function: Callable[..., Any], *arrays: Any) -> Callable[[], Any]:
    """A call that ends when its outputs are there."""
    return lambda: jax.block_until_ready(function(*arrays))


def compare_call(call: Timed, dtype: str, rounds: int) -> dict[str, Any]:
    """One row."""
    pair = [finish(jax.jit(own), *call.arrays) for own in (call.spelled, call.composed)]
    for function in pair:
        function()
    return {"op": call.op, "shape": call.shape, "dtype": dtype, **compare_pair(*pair, rounds)}


def measure_overheads(rounds: int) -> dict[str, float]:
    """Microseconds of a call of rms_norm of [4, 64]."""
    x, weight = jnp.ones((4, 64)), jnp.ones(64)
    jitted, spelled = jax.jit(ops.rms_norm), jax.jit(rms_norm)
    ways = {
        "rockiln_jax.ops.rms_norm": finish(ops.rms_norm, x, weight),
        "its spelling in jax.numpy": finish(rms_norm, x, weight),
        "jax.jit of the op": finish(jitted, x, weight),
        "jax.jit of the spelling": finish(spelled, x, weight),
    }
    return time_ways(ways, rounds)


def measure_imports(pairs: int) -> dict[str, float]:
    """Milliseconds of CPU that whole processes take over one that imports JAX alone: medians of neighbours."""
    time_process(IMPORTS[1])
    rows = [[time_process(program) for program in IMPORTS] for _ in range(pairs)]
    return {
        f"{program}, ms": round(median(row[place] - row[0] for row in rows), 1)
        for place, program in enumerate(IMPORTS) if place
    }  # fmt: skip


def time_process(program: str) -> float:
    """User and system milliseconds of one Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def main() -> None:
    """Print rows and overheads."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    load, rows = os.getloadavg()[0], []
    for name, dtype in (("f32", jnp.float32), ("bf16", jnp.bfloat16)):
        for call in (own for own in list_calls(dtype) if arguments.only in own.op):
            rows.append(compare_call(call, name, arguments.rounds))
            sys.stdout.write(write_row(rows[-1]))
            sys.stdout.flush()
    if arguments.only:
        return
    overheads = measure_overheads(arguments.rounds) | measure_imports(arguments.pairs)
    sys.stdout.write(f"{json.dumps(overheads, indent=1)}\nload {load:.0f}\n")
    if arguments.json:
        found = {
            "jax": jax.__version__,
            "load": round(load, 1),
            "rounds": arguments.rounds,
            "pairs": arguments.pairs,
            "rows": rows,
            "overheads": overheads,
        }
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
