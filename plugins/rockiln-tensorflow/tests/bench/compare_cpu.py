"""Compositions and spellings, both traced, in turn in one process → ratios; and what calls and the import cost.

`python tests/bench/compare_cpu.py [--rounds N] [--only OP] [--xla] [--processes N] [--json PATH]`, from
plugins/rockiln-tensorflow. `--xla`: both compiled by XLA (jit_compile=True).
CPU time of the process, on one core: what other programs take does not count, though what they do to the caches does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before TensorFlow counts the cores for its threads
os.environ |= {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
sys.path[:0] = [str(Path(__file__).parents[1])]

import tensorflow as tf  # noqa: E402

from bench.spellings import Timed, list_calls, rms_norm  # noqa: E402
from rockiln_tensorflow import ops  # noqa: E402

WANTED = 0.97
IMPORT = """
import tensorflow, time
start = time.process_time()
import rockiln_tensorflow
print(time.process_time() - start)
"""


def time_pair(one: Callable[[], Any], other: Callable[[], Any], rounds: int) -> tuple[float, float, float]:
    """Medians of seconds of each, and of the ratios of neighbours, in changing order."""
    loops = max(1, int(0.01 / max(time_calls(one, 2), time_calls(other, 2), 1e-6)))
    pairs = []
    for place in range(rounds):
        order = (one, other) if place % 2 else (other, one)
        times = [time_calls(function, loops) for function in order]
        pairs.append(times if place % 2 else times[::-1])
    first, second = (median(pair[side] for pair in pairs) for side in (0, 1))
    return first, second, median(own / rest for own, rest in pairs)


def time_calls(function: Callable[[], Any], loops: int) -> float:
    """Seconds of CPU a call."""
    start = time.process_time()
    for _ in range(loops):
        function()
    return (time.process_time() - start) / loops


def trace(function: Callable[..., Any], *tensors: tf.Tensor, xla: bool = False) -> Callable[..., Any]:
    """A concrete function of tensors alone: with keywords, calling it takes TensorFlow most of a millisecond."""

    def call(*own: tf.Tensor) -> Any:
        return function(*own)

    return tf.function(call, autograph=False, jit_compile=xla).get_concrete_function(*tensors)


def compare_call(call: Timed, dtype: str, rounds: int, *, xla: bool) -> dict[str, Any]:
    """One row."""
    spelled, composed = (trace(own, *call.tensors, xla=xla) for own in (call.spelled, call.composed))
    first, second, ratio = time_pair(lambda: spelled(*call.tensors), lambda: composed(*call.tensors), rounds)
    milliseconds = {"spelled_ms": round(first * 1e3, 4), "composed_ms": round(second * 1e3, 4)}
    return {"op": call.op, "shape": call.shape, "dtype": dtype, **milliseconds, "ratio": round(ratio, 2)}


def measure_overheads(rounds: int) -> dict[str, float]:
    """Microseconds of a call of rms_norm of [4, 64], the least of the rounds of 200 calls."""
    x, weight = tf.ones((4, 64)), tf.ones(64)
    traced, spelled = (trace(own, x, weight) for own in (ops.rms_norm, rms_norm))
    ways = {
        "rockiln_tensorflow.ops.rms_norm": lambda: ops.rms_norm(x, weight),
        "its spelling": lambda: rms_norm(x, weight),
        "the op, traced": lambda: traced(x, weight),
        "the spelling, traced": lambda: spelled(x, weight),
    }
    found = {}
    for name, way in ways.items():
        time_calls(way, 20)
        found[f"{name}, us"] = round(min(time_calls(way, 200) for _ in range(rounds)) * 1e6, 1)
    return found


def measure_import(processes: int) -> float:
    """Milliseconds of CPU after TensorFlow's own import: the median of processes."""
    command = [sys.executable, "-c", IMPORT]
    found = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(processes)]
    return round(median(map(float, found)) * 1e3, 1)


def main() -> None:
    """Print rows and overheads."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="")
    parser.add_argument("--xla", action="store_true")
    parser.add_argument("--processes", type=int, default=5, help="that import it")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    load, rows = os.getloadavg()[0], []
    for name, dtype in (("f32", tf.float32), ("bf16", tf.bfloat16)):
        for call in (own for own in list_calls(dtype) if arguments.only in own.op):
            rows.append(compare_call(call, name, arguments.rounds, xla=arguments.xla))
            mark = " <" if rows[-1]["ratio"] < WANTED else ""
            sys.stdout.write(" | ".join(map(str, rows[-1].values())) + mark + "\n")
            sys.stdout.flush()
    if arguments.only:
        return
    overheads = measure_overheads(arguments.rounds) | {"the import, ms": measure_import(arguments.processes)}
    sys.stdout.write(f"{json.dumps(overheads, indent=1)}\nload {load:.0f}\n")
    if arguments.json:
        kept = {
            "tensorflow": tf.__version__,
            "load": round(load, 1),
            "rounds": arguments.rounds,
            "xla": arguments.xla,
            "rows": rows,
        }
        arguments.json.write_text(json.dumps(kept | {"overheads": overheads}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
