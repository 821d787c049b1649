"""Compilers that end their process, as Triton's LLVM does at times; a worker process imports them by name."""

from __future__ import annotations

import os
from pathlib import Path

from rockiln_kernels.archs import ARCHS, Arch
from rockiln_kernels.pack import compile_apart as apart
from rockiln_kernels.pack.compile_kernel import NotCompiled
from rockiln_kernels.pack.toolchain import Toolchain
from rockiln_kernels.variant import Kernel


def die_once(kernel: Kernel, arch: Arch, toolchain: Toolchain) -> NotCompiled:  # noqa: ARG001  # a compiler's own
    """The first attempt at the kernel called "bad" aborts; `kernel.source` is a folder that remembers it."""
    mark = Path(kernel.source) / "died"
    if kernel.function == "bad" and not mark.exists():
        mark.touch()
        os.abort()
    return NotCompiled(reason=f"{kernel.function} was compiled")


def die_always(kernel: Kernel, arch: Arch, toolchain: Toolchain) -> NotCompiled:  # noqa: ARG001
    """Every attempt at the kernel called "bad" aborts."""
    if kernel.function == "bad":
        os.abort()
    return NotCompiled(reason=f"{kernel.function} was compiled")


def end_after_compiling(folder: str) -> None:
    """Compile in a worker of a process of multiprocessing, which then has that worker to end."""
    apart.compile_kernel = die_once  # type: ignore[assignment]
    toolchain = Toolchain(triton="3.4.0", lld="22", lld_path="/nowhere")
    kernel = Kernel(source=folder, function="one", args=(), constants=())
    list(apart.compile_apart({"one": kernel}, ARCHS["gfx942"], toolchain, 1))
