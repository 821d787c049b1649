"""Launches from several threads, as a framework with two devices makes them, go through the core one after another."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from gfxemu.launch import LaunchRecord, run_core
from gfxemu.memory import Memory


def test_core_runs_one_launch_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    running, most = [], []

    def run(*_: object) -> int:
        running.append(1)
        most.append(len(running))
        time.sleep(0.01)
        running.pop()
        return 0

    core = SimpleNamespace(library=SimpleNamespace(gfxemu_run=run))
    monkeypatch.setitem(run_core.__globals__, "load_core", lambda: core)  # gfxemu.launch is the function
    kernel = SimpleNamespace(code=SimpleNamespace(program=SimpleNamespace(ops=None, count=0, index=())))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: run_core(kernel, LaunchRecord(), [], Memory()), range(8)))
    assert most == [1] * 8
