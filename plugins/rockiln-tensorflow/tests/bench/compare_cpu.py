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
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before TensorFlow counts the cores for its threads
os.environ |= {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[3] / "rockiln-kernels" / "tests")]

import tensorflow as tf  # noqa: E402

from bench.spellings import Timed, list_calls, rms_norm  # noqa: E402
from harness.in_turn import compare_pair, time_ways, write_row  # noqa: E402
from rockiln_tensorflow import ops  # noqa: E402

IMPORT = """
import tensorflow, time
start = time.process_time()
import rockiln_tensorflow
print(time.process_time() - start)
"""


def trace(function: Callable[..., Any], *tensors: tf.Tensor, xla: bool = False) -> Callable[..., Any]:
    """A concrete function of tensors alone: with keywords, calling it takes TensorFlow most of a millisecond."""

    def call(*own: tf.Tensor) -> Any:
        return function(*own)

    return tf.function(call, autograph=False, jit_compile=xla).get_concrete_function(*tensors)


def compare_call(call: Timed, dtype: str, rounds: int, *, xla: bool) -> dict[str, Any]:
    """One row."""
    spelled, composed = (trace(own, *call.tensors, xla=xla) for own in (call.spelled, call.composed))
    found = compare_pair(lambda: spelled(*call.tensors), lambda: composed(*call.tensors), rounds)
    return {"op": call.op, "shape": call.shape, "dtype": dtype, **found}


def measure_overheads(rounds: int) -> dict[str, float]:
    """Microseconds of a call of rms_norm of [4, 64]."""
    x, weight = tf.ones((4, 64)), tf.ones(64)
    traced, spelled = (trace(own, x, weight) for own in (ops.rms_norm, rms_norm))
    ways = {
        "rockiln_tensorflow.ops.rms_norm": lambda: ops.rms_norm(x, weight),
        "its spelling": lambda: rms_norm(x, weight),
        "the op, traced": lambda: traced(x, weight),
        "the spelling, traced": lambda: spelled(x, weight),
    }
    return time_ways(ways, rounds)


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
            sys.stdout.write(write_row(rows[-1]))
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
