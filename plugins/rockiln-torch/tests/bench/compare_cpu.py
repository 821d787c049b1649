"""Compositions and eager spellings, in turn in one process → a table of times and ratios, and JSON of the same.

`python -m bench.compare_cpu [--threads N] [--rounds N] [--only OP] [--json PATH]`, from tests/.
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

import torch

from bench.calls import Timed, list_calls
from bench.eager import EAGER
from rockiln_torch.framework import compose

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Best times in milliseconds; `ratio` > 1 where the composition is the faster one."""

    op: str
    shape: str
    dtype: str
    eager_ms: float
    composed_ms: float
    ratio: float


def time_pair(first: Callable[[], Any], second: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """The best of `rounds` of each, in seconds, taken in turn, so that both meet the same machine."""
    best = [float("inf"), float("inf")]
    loops = [_count_loops(first), _count_loops(second)]
    for _ in range(rounds):
        for place, function in enumerate((first, second)):
            start = time.perf_counter()
            for _ in range(loops[place]):
                function()
            best[place] = min(best[place], (time.perf_counter() - start) / loops[place])
    return best[0], best[1]


def _count_loops(function: Callable[[], Any]) -> int:
    """So many calls that they take some 3 ms."""
    function()
    start = time.perf_counter()
    function()
    return max(1, int(0.003 / (time.perf_counter() - start)))


def compare_call(call: Timed, dtype: str, rounds: int) -> Row:
    """One row of the table."""
    eager, composed = EAGER[call.op], compose(call.op)
    with torch.no_grad():
        times = time_pair(
            lambda: eager(*call.tensors, **call.words), lambda: composed(*call.tensors, **call.words), rounds
        )
    milliseconds = [round(seconds * 1e3, 4) for seconds in times]
    return Row(
        op=call.op,
        shape=call.shape,
        dtype=dtype,
        eager_ms=milliseconds[0],
        composed_ms=milliseconds[1],
        ratio=round(times[0] / times[1], 3),
    )


def main() -> int:
    """0, or 1 if a ratio is below 0.97."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    rows = []
    for dtype, own in DTYPES.items():
        for call in list_calls(own):
            if arguments.only in call.op:
                rows.append(compare_call(call, dtype, arguments.rounds))
                row = rows[-1]
                line = (
                    f"{row.op:18} {row.shape:28} {dtype:5} {row.eager_ms:9.3f} {row.composed_ms:9.3f} {row.ratio:6.2f}"
                )
                sys.stdout.write(f"{line}{' <' if row.ratio < 0.97 else ''}\n")
                sys.stdout.flush()
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return int(any(row.ratio < 0.97 for row in rows))


if __name__ == "__main__":
    sys.exit(main())
