"""Kernels → what became of each, by worker processes: at times Triton's LLVM aborts, and takes its process along."""

from __future__ import annotations

import multiprocessing
import signal
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.util import Finalize

from rockiln_kernels.archs import Arch
from rockiln_kernels.pack.compile_kernel import Compiled, NotCompiled, compile_kernel
from rockiln_kernels.pack.toolchain import Toolchain
from rockiln_kernels.variant import Kernel

Outcome = Compiled | NotCompiled
_ATTEMPTS = 2
_kept: list[_Workers] = []
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


class _Workers:
    """Processes that compile, and a folder that is theirs: one that is ended at its work leaves nothing behind."""

    def __init__(self, jobs: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="rockiln-triton-")
        context = multiprocessing.get_context("spawn")  # its LLVM survives no fork
        resource_tracker.ensure_running()  # or it is started, and lets signals in, while they are held back below
        self._pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(self._folder.name,))
        self._others = set(multiprocessing.active_children())

    def submit(self, kernel: Kernel, arch: Arch, toolchain: Toolchain) -> Future[Outcome]:
        """Begin to compile. What interrupts a process that is about to start waits until `_begin` runs in it."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return self._pool.submit(compile_kernel, kernel, arch, toolchain)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def close(self) -> None:
        """Wait for all that was begun."""
        self._pool.shutdown()
        self._folder.cleanup()

    def stop(self) -> None:
        """Wait for nothing."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - self._others:
            process.kill()
        self.close()


def _begin(folder: str) -> None:
    """Ctrl-C reaches a terminal's whole group of processes; only the one that was called has something to say."""
    tempfile.tempdir = folder
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextmanager
def _stop_if_left(workers: _Workers) -> Iterator[_Workers]:
    """Workers that go on after the block, unless it is left by an exception."""
    try:
        yield workers
    except BaseException:
        workers.stop()
        raise


@contextmanager
def _start_workers(jobs: int) -> Iterator[_Workers]:
    with _stop_if_left(_Workers(jobs)) as workers:
        yield workers
    workers.close()


def _compile_together(
    kernels: Mapping[str, Kernel], arch: Arch, toolchain: Toolchain, jobs: int
) -> Iterator[tuple[str, Outcome]]:
    if jobs == 1:
        with _stop_if_left(_take_worker()) as worker:
            for key, kernel in kernels.items():
                yield key, worker.submit(kernel, arch, toolchain).result()
        _kept.append(worker)
        return
    with _start_workers(jobs) as workers:
        futures = {workers.submit(kernel, arch, toolchain): key for key, kernel in kernels.items()}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _compile_alone(kernel: Kernel, arch: Arch, toolchain: Toolchain) -> Outcome:
    for _ in range(_ATTEMPTS):
        with suppress(BrokenProcessPool), _start_workers(1) as workers:
            return workers.submit(kernel, arch, toolchain).result()
    reason = f"{kernel.function}: the compiler ends its process, {_ATTEMPTS} times of {_ATTEMPTS}"
    return NotCompiled(reason=reason, is_lasting=False)


def _take_worker() -> _Workers:
    if _kept:
        return _kept.pop()
    worker = _Workers(1)
    # A process of multiprocessing waits for its children before pools end; 100: before the pool's queues, at 10
    Finalize(None, worker.close, exitpriority=100)
    return worker
