"""Builds that are killed or interrupted at any moment: the next one is as if nothing had been."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import TimeoutExpired

import pytest

from remains import MADE, list_damaged, list_files, list_unfinished, wait_for_processes
from small_project import SMALL, SmallProject

pytestmark = [pytest.mark.network, pytest.mark.userns, pytest.mark.slow]

KILLS = 20
INTERRUPTED = "rockiln: interrupted; nothing half-written was kept but downloads, which go on next time\n"


def forget_some(project: SmallProject, chance: random.Random) -> None:
    """Take away the image and some parts of the cache, so that there is something to do again."""
    shutil.rmtree(project.path / "build", ignore_errors=True)
    for name in MADE:
        if chance.random() < 0.5:
            shutil.rmtree(project.cache_path / name, ignore_errors=True)


def kill_after(project: SmallProject, delay_s: float) -> bool:
    """Start a build, kill it; returns whether it was still running then."""
    with project.start("build", SMALL) as process:
        try:
            process.communicate(timeout=delay_s)
        except TimeoutExpired:
            process.kill()
            return True
    return False


def test_killed_at_twenty_moments_then_the_same_digest(
    small_project: SmallProject, undisturbed: SmallProject, digest: str, tmp_path: Path
) -> None:
    project = small_project.copy_to(tmp_path)
    start_s = time.monotonic()
    assert project.build() == digest
    whole_s = time.monotonic() - start_s
    chance, struck = random.Random(20), 0  # noqa: S311  # moments, no secrets
    for _ in range(KILLS):
        forget_some(project, chance)
        if kill_after(project, chance.uniform(0, whole_s)):
            struck += 1
        else:
            whole_s /= 2  # less was left to do, or less else runs now
        assert wait_for_processes(project) == []
    assert struck >= KILLS // 2
    assert project.build() == digest
    assert list_unfinished(project) == []
    assert list_damaged(project) == []
    assert list_files(project) == list_files(undisturbed)


def unpacking(project: SmallProject) -> bool:
    return any((project.cache_path / "unpacked").glob("*.json"))


def compiling(project: SmallProject) -> bool:
    return any((project.cache_path / "workshop").glob("*/out-*/*.todo"))


def compressing(project: SmallProject) -> bool:
    return any((project.cache_path / "layers/partial").glob("*/blob"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("stage", [unpacking, compiling, compressing], ids=lambda stage: stage.__name__)
def test_interrupt_is_one_line_and_leaves_nothing(
    stage: Callable[[SmallProject], bool], number: signal.Signals, small_project: SmallProject, digest: str,
    tmp_path: Path,
) -> None:  # fmt: skip
    project = small_project.copy_to(tmp_path)
    with project.start("--quiet", "build", SMALL) as process:
        while not stage(project):
            assert process.poll() is None
            time.sleep(0.005)
        os.killpg(process.pid, number)
        interrupted_s = time.monotonic()
        stdout, stderr = process.communicate(timeout=60)
    assert time.monotonic() - interrupted_s < 20
    assert (process.returncode, stdout) == (130, "")
    assert stderr == INTERRUPTED
    assert list_unfinished(project) == []
    assert wait_for_processes(project) == []
    assert not (project.path / "build" / SMALL / "image").exists()
    assert project.build() == digest


def test_interrupt_while_a_server_keeps_silent(small_project: SmallProject, digest: str, tmp_path: Path) -> None:
    """Threads that hang in a read do not hold up the end."""
    project = small_project.copy_to(tmp_path, store=False)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        mirror = f"debian=http://127.0.0.1:{silent.getsockname()[1]}"
        with project.start("--quiet", "--mirror", mirror, "build", SMALL) as process:
            connection, _ = silent.accept()
            os.killpg(process.pid, signal.SIGINT)
            interrupted_s = time.monotonic()
            with connection:
                _, stderr = process.communicate(timeout=60)
    assert time.monotonic() - interrupted_s < 10
    assert (process.returncode, stderr) == (130, INTERRUPTED)
    assert project.build() == digest
    assert list_unfinished(project) == []
