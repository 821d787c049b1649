"""A clang, headers and an architecture → whether they compile anything at all: who is to blame where a file fails."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from functools import cache

from hipcompat.check.diagnostics import parse_diagnostics
from hipcompat.check.toolchain import Toolchain
from hipcompat.errors import ToolchainError
from hipcompat.translate.shim import shim_arguments

_TIMEOUT_S = 120.0
_KERNEL = "__attribute__((global)) void kernel() {}\n"
_HINT = "--clang PATH of a clang 19 or newer, 22 for gfx950; or ROCm's own"


@cache
def require_clang(clang_path: str, arch: str) -> None:
    """Raises ToolchainError where the program is no clang, or one that makes no code for this architecture."""
    _require_any_clang(clang_path)
    device = ("-x", "hip", f"--offload-arch={arch}", "--offload-device-only", "-nogpulib", "-nogpuinc")
    returncode, out = _run((clang_path, *device, "-S", "-Xclang", "-emit-obj", "-o", os.devnull, "-"), _KERNEL)
    if returncode:
        raise ToolchainError(f"{clang_path} makes no code for {arch}: {_say(returncode, out)}", hint=_HINT)


@cache
def _require_any_clang(clang_path: str) -> None:
    returncode, out = _run((clang_path, "--version"))
    if returncode or "clang version" not in out:
        said = out.strip().partition("\n")[0] or f"it ended with {returncode}"
        raise ToolchainError(f"{clang_path} is no clang: of --version it says: {said}", hint=_HINT)


@cache
def find_headers_fault(toolchain: Toolchain, arch: str, *, uses_shim: bool) -> str:
    """What clang says of HIP's headers alone (under hipcompat's, where `uses_shim`); "" where they compile."""
    shim = shim_arguments() if uses_shim else ()
    command = (str(toolchain.clang_path), *shim, *toolchain.arguments(arch), "-w", "-fno-color-diagnostics",
               "-fsyntax-only", "-")  # fmt: skip
    returncode, out = _run(command, f"#include <hip/hip_runtime.h>\n{_KERNEL}")
    return _say(returncode, out) if returncode else ""


def _run(command: Sequence[str], source: str = "") -> tuple[int, str]:
    """Exit code and all that was said."""
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, input=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            check=False, env=environment, timeout=_TIMEOUT_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return -1, f"it did not end within {_TIMEOUT_S:g} s"
    except OSError as fault:
        return -1, f"it cannot be run: {fault.strerror}"
    return done.returncode, done.stdout


def _say(returncode: int, out: str) -> str:
    """The first error, with its place."""
    for error in parse_diagnostics(out):
        return f"{error.path}:{error.line}: {error.message}" if error.path else error.message
    return (out.strip().splitlines() or [f"it ended with {returncode}"])[-1]
