"""Threads give all results, the first fault, and never hold up an interrupt."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from rockiln.download.threads import map_threads


def test_every_value_gives_a_result() -> None:
    assert sorted(map_threads(lambda value: value * 2, range(100), 7)) == list(range(0, 200, 2))


def test_no_values_need_no_threads() -> None:
    assert list(map_threads(lambda value: value, [], 4)) == []


def test_calls_overlap() -> None:
    gate = threading.Barrier(4, timeout=10)
    assert len(list(map_threads(lambda _: gate.wait(), range(4), 4))) == 4


def test_first_fault_ends_it() -> None:
    done = []

    def make(value: int) -> int:
        if value == 3:
            raise ValueError("three")
        time.sleep(0.01)
        done.append(value)
        return value

    with pytest.raises(ValueError, match="three"):
        list(map_threads(make, range(1000), 2))
    count = len(done)
    time.sleep(0.1)
    assert len(done) <= count + 2 < 1000


HANGING = """
import signal, threading, time
from rockiln.download.threads import map_threads
threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,)).start()
list(map_threads(lambda _: time.sleep(60), range(2), 2))
"""


def test_interrupt_does_not_wait_for_a_hanging_read() -> None:
    start_s = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, text=True, timeout=30, check=False)
    assert "KeyboardInterrupt" in ended.stderr
    assert time.monotonic() - start_s < 15
