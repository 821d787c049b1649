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
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before JAX counts the cores for its threads
os.environ["JAX_PLATFORMS"] = "cpu"
sys.path[:0] = [str(Path(__file__).parents[1])]

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

from bench.spellings import Timed, list_calls, rms_norm  # noqa: E402
from rockiln_jax import ops  # noqa: E402

WANTED = 0.97
IMPORTS = ("import jax", "import jax, rockiln_jax", "import jax; from rockiln_jax import nn, ops; ops.rms_norm")


def time_pair(one: Callable[[], Any], other: Callable[[], Any], rounds: int) -> tuple[float, float, float]:
    """Medians of seconds of each, and of the ratios of neighbours, in changing order."""
    loops = max(1, int(0.01 / max(_time_calls(one, 2), _time_calls(other, 2), 1e-6)))
    pairs = []
    for place in range(rounds):
        order = (one, other) if place % 2 else (other, one)
        times = [_time_calls(function, loops) for function in order]
        pairs.append(times if place % 2 else times[::-1])
    first, second = (median(pair[side] for pair in pairs) for side in (0, 1))
    return first, second, median(own / rest for own, rest in pairs)


def _time_calls(function: Callable[[], Any], loops: int) -> float:
    start = time.process_time()
    for _ in range(loops):
        jax.block_until_ready(function())
    return (time.process_time() - start) / loops


def compare_call(call: Timed, dtype: str, rounds: int) -> dict[str, Any]:
    """One row."""
    spelled, composed = jax.jit(call.spelled), jax.jit(call.composed)
    for function in (spelled, composed):
        jax.block_until_ready(function(*call.arrays))
    first, second, ratio = time_pair(lambda: spelled(*call.arrays), lambda: composed(*call.arrays), rounds)
    milliseconds = {"spelled_ms": round(first * 1e3, 4), "composed_ms": round(second * 1e3, 4)}
    return {"op": call.op, "shape": call.shape, "dtype": dtype, **milliseconds, "ratio": round(ratio, 2)}


def measure_overheads(rounds: int) -> dict[str, float]:
    """Microseconds of a call of rms_norm of [4, 64], the least of the rounds of 200 calls."""
    x, weight = jnp.ones((4, 64)), jnp.ones(64)
    jitted, spelled = jax.jit(ops.rms_norm), jax.jit(rms_norm)
    ways = {
        "rockiln_jax.ops.rms_norm": lambda: ops.rms_norm(x, weight),
        "its spelling in jax.numpy": lambda: rms_norm(x, weight),
        "jax.jit of the op": lambda: jitted(x, weight),
        "jax.jit of the spelling": lambda: spelled(x, weight),
    }
    found = {}
    for name, way in ways.items():
        _time_calls(way, 20)
        found[f"{name}, us"] = round(min(_time_calls(way, 200) for _ in range(rounds)) * 1e6, 1)
    return found


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
            mark = " <" if rows[-1]["ratio"] < WANTED else ""
            sys.stdout.write(" | ".join(map(str, rows[-1].values())) + mark + "\n")
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
