"""A compiler that ends its process costs one kernel at the most, and neither the others nor the caller."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.dying_compiler import die_always, die_once, end_after_compiling
from rockiln_kernels.archs import ARCHS
from rockiln_kernels.pack import compile_apart as apart
from rockiln_kernels.pack.compile_kernel import NotCompiled
from rockiln_kernels.pack.toolchain import Toolchain
from rockiln_kernels.variant import Kernel

ARCH = ARCHS["gfx942"]
TOOLCHAIN = Toolchain(triton="3.4.0", lld="22", lld_path="/nowhere")


def _kernels(folder: Path) -> dict[str, Kernel]:
    return {name: Kernel(source=str(folder), function=name, args=(), constants=()) for name in ("one", "bad", "two")}


@pytest.mark.parametrize("jobs", [1, 2])
def test_who_dies_once_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    monkeypatch.setattr(apart, "compile_kernel", die_once)
    found = dict(apart.compile_apart(_kernels(tmp_path), ARCH, TOOLCHAIN, jobs))
    assert found == {name: NotCompiled(reason=f"{name} was compiled") for name in ("one", "bad", "two")}


@pytest.mark.parametrize("jobs", [1, 2])
def test_who_always_dies_has_that_as_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    monkeypatch.setattr(apart, "compile_kernel", die_always)
    found = dict(apart.compile_apart(_kernels(tmp_path), ARCH, TOOLCHAIN, jobs))
    assert found["bad"] == NotCompiled(reason="bad: the compiler ends its process, 2 times of 2", is_lasting=False)
    assert found["one"] == NotCompiled(reason="one was compiled")
    assert found["two"] == NotCompiled(reason="two was compiled")


def test_process_of_multiprocessing_ends_after_it_compiled(tmp_path: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=end_after_compiling, args=(str(tmp_path),))
    process.start()
    process.join(60.0)
    exitcode = process.exitcode
    process.kill()
    assert exitcode == 0


INTERRUPTED = """
import sys
from rockiln_kernels import cli
cli.find_toolchain = lambda: cli_toolchain
from rockiln_kernels.pack.toolchain import Toolchain
cli_toolchain = Toolchain(triton="3.4.0", lld="22", lld_path="/nowhere")
import rockiln_kernels.pack.compile_apart as apart
from waiting_compiler import wait_for_ever
apart.compile_kernel = wait_for_ever
sys.exit(cli.main())
"""


@pytest.mark.parametrize("is_of_group", [True, False])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_who_is_interrupted_says_so_in_a_line_and_leaves_nothing(
    tmp_path: Path, jobs: str, number: int, is_of_group: bool
) -> None:
    words = ["build-pack", "--arch", "gfx942", "--output", str(tmp_path / "p"), "--only", "rms_norm/*", "--jobs", jobs]
    (tmp_path / "temporary").mkdir()
    places = {"ROCKILN_KERNELS_CACHE": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "temporary")}
    environ = {**os.environ, **places, "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-c", INTERRUPTED, *words]
    process = subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while len(list((tmp_path / "temporary").rglob("begun-*"))) < int(jobs) and time.monotonic() < deadline:
        time.sleep(0.05)
    (os.killpg if is_of_group and number == signal.SIGINT else os.kill)(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "rockiln-kernels: interrupted\n")
    assert not list((tmp_path / "temporary").iterdir())
    assert not (tmp_path / "p").exists()
