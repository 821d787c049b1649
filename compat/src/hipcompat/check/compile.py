"""Source files and architectures → Outcome each: clang compiles device code and assembles it, links and runs nothing.

clang accepts any text in asm() until it assembles; so an object is made by clang's own assembler, which names the line
of the source, and thrown away.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hipcompat.check.diagnostics import Diagnostic, parse_diagnostics
from hipcompat.check.toolchain import Toolchain
from hipcompat.errors import FileError
from hipcompat.translate.overlay import write_overlay
from hipcompat.translate.shim import shim_arguments

_CUDA_SUFFIXES = (".cu", ".cuh")
_MOST_ERRORS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`shim` None: hipcompat's headers for .cu and .cuh, none for the rest. `extra` are clang's own arguments.

    `guards`: a guard that asks for NVIDIA's compiler to bring `__device__` asks for HIP's, too (translate.overlay).
    """

    include_paths: tuple[Path, ...] = ()
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


def check_files(
    paths: Sequence[Path],
    archs: Sequence[str],
    toolchain: Toolchain,
    options: Options,
    *,
    progress: Callable[[Outcome], None] | None = None,
) -> tuple[Outcome, ...]:
    """In the order of `paths`, then `archs`. Raises FileError for a file that is not there."""
    for path in paths:
        if not path.is_file():
            raise FileError(f"{path} is no file", hint="name source files; folders are not searched")
    pairs = [(path, arch) for path in paths for arch in archs]
    with TemporaryDirectory(prefix="hipcompat-") as folder:
        overlay = write_overlay(
            Path(folder), rocm_path=toolchain.rocm_path, sources=paths if options.guards else (),
            include_paths=options.include_paths,
        )  # fmt: skip

        def check(pair: tuple[Path, str]) -> Outcome:
            outcome = _check_file(*pair, toolchain, options, overlay)
            if progress:
                progress(outcome)
            return outcome

        with ThreadPoolExecutor(max_workers=max(1, options.jobs)) as pool:
            return tuple(pool.map(check, pairs))


def make_command(
    path: Path, arch: str, toolchain: Toolchain, options: Options, overlay: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """The whole command line."""
    uses_shim = path.suffix in _CUDA_SUFFIXES if options.shim is None else options.shim
    shim = (*shim_arguments(), *overlay) if uses_shim else ()
    return (
        str(toolchain.clang_path), *shim, *toolchain.arguments(arch),
        "-O1", "-w", f"-ferror-limit={_MOST_ERRORS}", "-fno-color-diagnostics",
        *(f"-I{folder}" for folder in options.include_paths), *(f"-D{define}" for define in options.defines),
        *options.extra, "-S", "-Xclang", "-emit-obj", "-o", os.devnull, str(path),
    )  # fmt: skip


def _check_file(path: Path, arch: str, toolchain: Toolchain, options: Options, overlay: tuple[str, ...]) -> Outcome:
    command = make_command(path, arch, toolchain, options, overlay)
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, env=environment,
            timeout=options.timeout_s, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        message = f"clang did not end within {options.timeout_s:g} s"
        return Outcome(path=str(path), arch=arch, is_ok=False, errors=(_say(message),))
    errors = parse_diagnostics(done.stderr)
    if done.returncode and not errors:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        errors = (_say(f"clang ended with {done.returncode}: {last[0]}"),)
    return Outcome(path=str(path), arch=arch, is_ok=done.returncode == 0, errors=errors if done.returncode else ())


def _say(message: str) -> Diagnostic:
    return Diagnostic(path="", line=0, column=0, message=message)
