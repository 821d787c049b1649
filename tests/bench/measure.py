"""A command → how long it took and how much memory its largest process held."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Wall-clock seconds and the peak resident set of the largest process, in bytes."""

    wall_s: float
    peak_bytes: int


def measure(argv: Sequence[str], *, cwd: Path, environ: Mapping[str, str] | None = None) -> Measured:
    """Run `argv` to its end. Raises CalledProcessError, with the output, when it fails."""
    start_s = time.monotonic()
    process = subprocess.Popen(
        argv, cwd=cwd, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.monotonic() - start_s
    process.stdout.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, argv, output.decode(errors="replace"))
    return Measured(wall_s=wall_s, peak_bytes=usage.ru_maxrss * 1024)
