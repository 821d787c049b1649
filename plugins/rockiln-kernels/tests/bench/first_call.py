"""What a process pays for a first call of an op: CPU milliseconds of import, of opening the pack, and of the choice.

`python tests/bench/first_call.py [--processes N]`, from plugins/rockiln-kernels; the pack is the plan of gfx942's, and
byte code is there, as in an image. Medians and least of N processes, and of a loop that tells how fast the machine is.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path[:0] = [str(Path(__file__).parents[1])]

from random_calls.planned import write_planned  # noqa: E402

PROBE = """
import sys, time
import ctypes, dataclasses, ast, json, re, hashlib  # what any framework has imported
from pathlib import Path
now = [time.process_time()]
sum(number * number for number in range(100_000))
now.append(time.process_time())
from rockiln_kernels.selection import explain, read_host
from rockiln_kernels.selection.call_text import parse_call
now.append(time.process_time())
host = read_host("gfx942", {"ROCKILN_EMULATED_OK": "1"}, Path(sys.argv[1]))
now.append(time.process_time())
explain(parse_call("rms_norm", ["x=bf16[4,4096]", "weight=bf16[4096]"], [], []), host)
now.append(time.process_time())
print(*((later - one) * 1e3 for one, later in zip(now, now[1:])))
"""
STEPS = ("a loop of 100,000 squares", "import", "open the pack", "choose a kernel")


def main() -> None:
    """Print a line a step."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=20)
    count = parser.parse_args().processes
    with tempfile.TemporaryDirectory() as folder:
        write_planned(Path(folder), "gfx942")
        command = [sys.executable, "-X", f"pycache_prefix={folder}/code", "-c", PROBE, folder]
        runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(count + 1)]
    for step, times in zip(STEPS, zip(*(map(float, run.split()) for run in runs[1:]), strict=True), strict=True):
        sys.stdout.write(f"{step}: {median(times):.1f} ms, at least {min(times):.1f}\n")


if __name__ == "__main__":
    main()
