"""Two functions in turn in one process → the ratio of their CPU time, which other programs' load leaves as it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

WANTED = 0.97
"""The least ratio of a framework's own spelling to an op's composition."""

_Function = Callable[[], Any]


def compare_pair(spelled: _Function, composed: _Function, rounds: int) -> dict[str, float]:
    """A row's milliseconds of each, and their ratio. Calls end when they return."""
    loops = max(1, int(0.01 / max(time_calls(spelled, 2), time_calls(composed, 2), 1e-6)))
    first, second, ratio = time_pair(spelled, composed, rounds, lambda function: time_calls(function, loops))
    return {"spelled_ms": round(first * 1e3, 4), "composed_ms": round(second * 1e3, 4), "ratio": round(ratio, 2)}


def time_pair(
    one: _Function, other: _Function, rounds: int, measure: Callable[[_Function], float]
) -> tuple[float, float, float]:
    """Medians of what `measure` finds of each, and of the ratios of neighbours: both meet the same machine, in changing
    order."""
    pairs = []
    for place in range(rounds):
        order = (one, other) if place % 2 else (other, one)
        times = [measure(function) for function in order]
        pairs.append(times if place % 2 else times[::-1])
    first, second = (median(pair[side] for pair in pairs) for side in (0, 1))
    return first, second, median(own / rest for own, rest in pairs)


def time_calls(function: _Function, loops: int) -> float:
    """Seconds of CPU a call."""
    start = time.process_time()
    for _ in range(loops):
        function()
    return (time.process_time() - start) / loops


def time_ways(ways: Mapping[str, _Function], rounds: int) -> dict[str, float]:
    """Microseconds of a call of each: the least of the rounds of 200 calls."""
    found = {}
    for name, way in ways.items():
        time_calls(way, 20)
        found[f"{name}, us"] = round(min(time_calls(way, 200) for _ in range(rounds)) * 1e6, 1)
    return found


def write_row(row: Mapping[str, Any]) -> str:
    """One line; `<` behind one that is slower than it should be."""
    return " | ".join(map(str, row.values())) + (" <" if row["ratio"] < WANTED else "") + "\n"
