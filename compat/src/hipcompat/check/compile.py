"""Source files and architectures → Outcome each: clang compiles device code and assembles it, links and runs nothing.

clang accepts any text in asm() until it assembles; so an object is made by clang's own assembler, which names the line
of the source. Which kernels it holds is read, and it is thrown away.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hipcompat.archs import read_archs
from hipcompat.check.diagnostics import Diagnostic, parse_diagnostics
from hipcompat.check.kernels import list_kernels
from hipcompat.check.probe import find_headers_fault, require_clang
from hipcompat.check.toolchain import Toolchain
from hipcompat.errors import FileError, ToolchainError
from hipcompat.paths import AnyPath, AnyPaths, list_paths
from hipcompat.translate.overlay import write_overlay
from hipcompat.translate.shim import shim_arguments

_CUDA_SUFFIXES = (".cu", ".cuh")
_MOST_ERRORS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`shim` None: hipcompat's headers for .cu and .cuh, none for the rest. `extra` are clang's own arguments.

    `guards`: a guard that asks for NVIDIA's compiler to bring `__device__` asks for HIP's, too (translate.overlay).
    """

    include_paths: tuple[AnyPath, ...] = ()
    defines: tuple[str, ...] = ()
    shim: bool | None = None
    guards: bool = False
    extra: tuple[str, ...] = ()
    timeout_s: float = 300.0
    jobs: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One file for one architecture."""

    path: str
    arch: str
    is_ok: bool
    errors: tuple[Diagnostic, ...]
    kernels: tuple[str, ...] = ()
    """Mangled names. None in what compiles: it is host code alone, or HIP's compiler sees no device code in it."""


def check_files(
    paths: AnyPaths,
    archs: str | Sequence[str],
    toolchain: Toolchain,
    options: Options,
    *,
    progress: Callable[[Outcome], None] | None = None,
) -> tuple[Outcome, ...]:
    """In the order of `paths`, then `archs`.

    Raises FileError for a file that is not there, UsageError for an architecture that LLVM lacks, ToolchainError where
    the compiler or HIP's headers are to blame.
    """
    paths, archs = list_paths(paths), read_archs(archs)
    for path in paths:
        if not path.is_file():
            raise FileError(f"{path} is no file", hint="name source files; folders are not searched")
    for arch in archs:
        require_clang(str(toolchain.clang_path), arch)
    pairs = [(path, arch) for path in paths for arch in archs]
    with TemporaryDirectory(prefix="hipcompat-") as folder:
        overlay = write_overlay(
            Path(folder), rocm_path=toolchain.rocm_path, sources=paths if options.guards else (),
            include_paths=options.include_paths,
        )  # fmt: skip

        def check(number: int) -> Outcome:
            path, arch = pairs[number]
            command = make_command(path, arch, toolchain, options, overlay)
            outcome = _check_file(path, arch, command, Path(folder, f"{number}.o"), options.timeout_s)
            if not outcome.is_ok:
                _require_headers(toolchain, arch, uses_shim=_uses_shim(path, options))
            if progress:
                progress(outcome)
            return outcome

        with ThreadPoolExecutor(max_workers=max(1, options.jobs)) as pool:
            return tuple(pool.map(check, range(len(pairs))))


def _require_headers(toolchain: Toolchain, arch: str, *, uses_shim: bool) -> None:
    """Raises ToolchainError where a file fails, and one without any code of its own would fail as well."""
    if fault := find_headers_fault(toolchain, arch, uses_shim=uses_shim):
        message = f"HIP's headers below {toolchain.rocm_path} do not compile with {toolchain.clang_path} for {arch}: "
        raise ToolchainError(message + fault, hint="--rocm-path DIR and --clang PATH of one ROCm")


def make_command(
    path: Path, arch: str, toolchain: Toolchain, options: Options, overlay: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """The whole command line but for the output. Line tables: else a kernel with too large a stack has no line.

    Their folder is the root, since clang takes off each name what it shares with that folder.
    """
    shim = (*shim_arguments(), *overlay) if _uses_shim(path, options) else ()
    return (
        str(toolchain.clang_path), *shim, *toolchain.arguments(arch),
        "-O1", "-gline-tables-only", "-fdebug-compilation-dir=/", "-w",
        f"-ferror-limit={_MOST_ERRORS}", "-fno-color-diagnostics",
        *(f"-I{folder}" for folder in list_paths(options.include_paths)),
        *(f"-D{define}" for define in options.defines), *options.extra, "-S", "-Xclang", "-emit-obj", str(path),
    )  # fmt: skip


def _uses_shim(path: Path, options: Options) -> bool:
    return path.suffix in _CUDA_SUFFIXES if options.shim is None else options.shim


def _check_file(path: Path, arch: str, command: Sequence[str], object_path: Path, timeout_s: float) -> Outcome:
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            [*command, "-o", str(object_path)], capture_output=True, text=True, errors="replace", check=False,
            env=environment, timeout=timeout_s, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return _fail(path, arch, _say(f"clang did not end within {timeout_s:g} s"))
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        errors = parse_diagnostics(done.stderr) or (_say(f"clang ended with {done.returncode}: {last[0]}"),)
        return _fail(path, arch, *errors)
    try:
        kernels = list_kernels(object_path.read_bytes())
    except (OSError, ValueError):  # nvcc's --version or --dryrun: clang does something else, and ends well
        return _fail(path, arch, _say("clang ended well and made no object: do its arguments ask for something else?"))
    object_path.unlink()
    return Outcome(path=str(path), arch=arch, is_ok=True, errors=(), kernels=kernels)


def _fail(path: Path, arch: str, *errors: Diagnostic) -> Outcome:
    return Outcome(path=str(path), arch=arch, is_ok=False, errors=errors)


def _say(message: str) -> Diagnostic:
    return Diagnostic(path="", line=0, column=0, message=message)
