"""A compiler that ends its process costs one kernel at the most, and neither the others nor the caller."""

from __future__ import annotations

import multiprocessing
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
