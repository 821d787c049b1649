"""torch.ops.rockiln and eager spellings, in turn in one process → a table of times and ratios, and JSON of the same.

`python -m bench.compare_cpu [--rounds N] [--only OP] [--threads N] [--least] [--json PATH]`, from tests/; `bench.page`
makes the page of docs of what lies in results/.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[3] / "rockiln-kernels" / "tests"))

import torch

import rockiln_torch  # noqa: F401  # defines the ops
from bench.calls import Timed, list_calls
from bench.eager import EAGER
from bench.page import WANTED
from harness import in_turn

AGAIN = 10
"""Times as many pairs decide of a call that missed the aim: on a busy machine few tell noise from a fault badly."""
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Medians in milliseconds; `ratio` > 1 where the op is the faster one."""

    op: str
    shape: str
    dtype: str
    eager_ms: float
    op_ms: float
    ratio: float


def time_pair(eager: Callable[[], Any], own: Callable[[], Any], rounds: int) -> tuple[float, float, float]:
    """CPU seconds of each, and their ratio.

    CPU time of this thread, not the clock: what other programs take does not count. Of several threads the clock.
    """
    loops = max(_count_loops(eager), _count_loops(own))
    return in_turn.time_pair(eager, own, rounds, lambda function: _time_calls(function, loops))


def time_least(eager: Callable[[], Any], own: Callable[[], Any], rounds: int) -> tuple[float, float, float]:
    """The shortest single call of each, in turns, by the clock, and their ratio: for threads on a machine that is busy.

    A call whose threads wait for a core, and for each other, takes many times as long; the shortest one did not.
    """
    eager(), own()
    times = [(_time_once(eager), _time_once(own)) for _ in range(rounds)]
    first, second = (min(pair[side] for pair in times) for side in (0, 1))
    return first, second, first / second


def _time_once(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _time_calls(function: Callable[[], Any], loops: int) -> float:
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    start = clock()
    for _ in range(loops):
        function()
    return (clock() - start) / loops


def _count_loops(function: Callable[[], Any]) -> int:
    """So many calls that they take some 5 ms."""
    function()
    return max(1, int(0.005 / max(_time_calls(function, 1), 1e-6)))


def compare_call(call: Timed, dtype: str, rounds: int, measure: Callable[..., tuple[float, float, float]]) -> Row:
    """One row of the table, by time_pair or time_least."""
    eager, own = EAGER[call.op], getattr(torch.ops.rockiln, call.op)
    with torch.no_grad():
        times = measure(lambda: eager(*call.tensors, **call.words), lambda: own(*call.tensors, **call.words), rounds)
    milliseconds = [round(seconds * 1e3, 4) for seconds in times[:2]]
    return Row(
        op=call.op,
        shape=call.shape,
        dtype=dtype,
        eager_ms=milliseconds[0],
        op_ms=milliseconds[1],
        ratio=round(times[2], 2),
    )


def read_cpu(text: str) -> str:
    """/proc/cpuinfo → the model of the first CPU as x86-64 has it, and which of the instructions for bf16 it has."""
    fields = dict(map(str.strip, line.split(":", 1)) for line in text.partition("\n\n")[0].splitlines() if ":" in line)
    known = [name for name in ("avx512_bf16", "amx_bf16") if name in fields.get("flags", "").split()]
    numbers = f"family {fields.get('cpu family')}, model {fields.get('model')}"
    return f"{fields.get('model name', 'unknown')} ({', '.join((numbers, *known))})"


def main() -> int:
    """0, or 1 if a ratio is below 0.97."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--least", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    measure = time_least if arguments.least else time_pair
    rows = []
    for dtype, own in DTYPES.items():
        for call in list_calls(own):
            if arguments.only in call.op:
                row = compare_call(call, dtype, arguments.rounds, measure)
                if row.ratio < WANTED:
                    row = compare_call(call, dtype, AGAIN * arguments.rounds, measure)
                rows.append(row)
                line = f"{row.op:18} {row.shape:28} {dtype:5} {row.eager_ms:9.3f} {row.op_ms:9.3f} {row.ratio:6.2f}"
                sys.stdout.write(f"{line}{' <' if row.ratio < WANTED else ''}\n")
                sys.stdout.flush()
    if arguments.json:
        found = {
            "cpu": read_cpu(Path("/proc/cpuinfo").read_text()),
            "torch": torch.__version__,
            "rounds": arguments.rounds,
            "rows": [asdict(row) for row in rows],
        }
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(any(row.ratio < WANTED for row in rows))


if __name__ == "__main__":
    sys.exit(main())
