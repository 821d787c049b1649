"""Kernels → what became of each, by worker processes: at times Triton's LLVM aborts, and takes its process along."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.util import Finalize

from rockiln_kernels.archs import Arch
from rockiln_kernels.pack.compile_kernel import Compiled, NotCompiled, compile_kernel
from rockiln_kernels.pack.toolchain import Toolchain
from rockiln_kernels.variant import Kernel

Outcome = Compiled | NotCompiled
_ATTEMPTS = 2
_kept: list[ProcessPoolExecutor] = []
"""The worker of one job at a time, which outlives a call: to import Triton takes a second."""


def compile_apart(
    kernels: Mapping[str, Kernel], arch: Arch, toolchain: Toolchain, jobs: int
) -> Iterator[tuple[str, Outcome]]:
    """Each kernel by its key as it gets done; one whose compiler dies is compiled again, in a new process."""
    left = dict(kernels)
    with suppress(BrokenProcessPool):
        for key, outcome in _compile_together(kernels, arch, toolchain, min(jobs, len(kernels))):
            del left[key]
            yield key, outcome
    for key, kernel in left.items():  # alone, so that it is known whose compiler dies
        yield key, _compile_alone(kernel, arch, toolchain)


def _compile_together(
    kernels: Mapping[str, Kernel], arch: Arch, toolchain: Toolchain, jobs: int
) -> Iterator[tuple[str, Outcome]]:
    if jobs == 1:
        worker = _take_worker()
        for key, kernel in kernels.items():
            yield key, worker.submit(compile_kernel, kernel, arch, toolchain).result()
        _kept.append(worker)
        return
    with _start_workers(jobs) as pool:
        futures = {pool.submit(compile_kernel, kernel, arch, toolchain): key for key, kernel in kernels.items()}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _compile_alone(kernel: Kernel, arch: Arch, toolchain: Toolchain) -> Outcome:
    for _ in range(_ATTEMPTS):
        with suppress(BrokenProcessPool), _start_workers(1) as pool:
            return pool.submit(compile_kernel, kernel, arch, toolchain).result()
    reason = f"{kernel.function}: the compiler ends its process, {_ATTEMPTS} times of {_ATTEMPTS}"
    return NotCompiled(reason=reason, is_lasting=False)


def _take_worker() -> ProcessPoolExecutor:
    if _kept:
        return _kept.pop()
    worker = _start_workers(1)
    # A process of multiprocessing waits for its children before pools end; 100: before the pool's queues, at 10
    Finalize(None, worker.shutdown, exitpriority=100)
    return worker


def _start_workers(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))  # its LLVM survives no fork
