"""A pack, a family of ops → Checked: every variant on every case of tests/cases, against the float64 references.

A family runs in a process of its own, `python -m gpu.check PACK FAMILY END`: a kernel that faults spoils the context of
its process, and one that hangs is killed with it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from gpu.machine import CudaError, CudaMachine
from harness.case import Array, Case
from harness.compare import find_differences
from harness.execute import execute_on, prepare
from harness.judge import compute_reference, make_cases
from rockiln_kernels.call import Rejected
from rockiln_kernels.launcher import LaunchError
from rockiln_kernels.pack.build import Pack
from rockiln_kernels.pack.manifest import VariantEntry, read_manifest
from rockiln_kernels.table import read_origins, read_table

WORKERS = 6
"""Processes at once: the references are what takes time."""
GRACE_S, LEAST_S = 45.0, 10.0
"""What the last variant of a family may take after the end, and what a family that starts late gets to say so."""
TESTS = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """`runs` that were right, by key of the variant; what was wrong; what was not run, and why."""

    runs: Mapping[str, int]
    wrong: Mapping[str, str]
    not_run: Mapping[str, str]


def check_family(folder: Path, family: str, ends_at_s: float) -> Checked:
    """`ends_at_s` in the seconds of time.time(): what is left then is not run."""
    pack = Pack(manifest=read_manifest(folder), code={})
    machine = CudaMachine(folder)
    runs: dict[str, int] = {}
    wrong: dict[str, str] = {}
    not_run: dict[str, str] = {}
    spoiled = ""
    for variant in pack.manifest.variants:
        if read_origins()[variant.op] != family:
            continue
        if spoiled or time.time() > ends_at_s:
            not_run[variant.key] = spoiled or "out of time"
            continue
        try:
            runs[variant.key], fault = _check_variant(machine, pack, variant)
        except CudaError as error:
            fault, spoiled = str(error), f"after the fault of {variant.key}"
        if fault:
            wrong[variant.key] = fault
        elif not runs[variant.key]:
            not_run[variant.key] = "no case exercises it"
    if not spoiled:
        machine.free()
    return Checked(runs=runs, wrong=wrong, not_run=not_run)


def _check_variant(machine: CudaMachine, pack: Pack, variant: VariantEntry) -> tuple[int, str]:
    """How many cases were right, and the first fault. Raises CudaError for a fault of the card."""
    spec, count = read_table()[variant.op], 0
    for number, case in enumerate(_read_cases(variant.op, variant.cell)):
        prepared = prepare(spec, variant.cell, case, pack, variant)
        if isinstance(prepared, Rejected):
            continue
        machine.free()
        try:
            got = execute_on(machine, prepared, case)
        except LaunchError as error:
            return count, f"{case.name}: {error.status.name}: {error}"
        want = _compute(variant.op, variant.cell, number)
        if differences := find_differences(spec, variant.cell, case, got, want):
            return count, f"{case.name}: {'; '.join(differences)}"
        count += 1
    return count, ""


@lru_cache(maxsize=4)
def _read_cases(op: str, cell: str) -> tuple[Case, ...]:
    return tuple(make_cases(op, cell))


@lru_cache(maxsize=64)
def _compute(op: str, cell: str, number: int) -> Mapping[str, Array]:
    return compute_reference(read_table()[op], cell, _read_cases(op, cell)[number])


def run_family(folder: Path, family: str, ends_at_s: float) -> Checked:
    """check_family in another process; one that dies or hangs tells nothing: all its variants are wrong."""
    command = [sys.executable, "-m", "gpu.check", str(folder), family, str(ends_at_s)]
    limit_s = max(LEAST_S, ends_at_s + GRACE_S - time.time())
    try:
        done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False, timeout=limit_s)
        if done.returncode == 0:
            return Checked(**json.loads(done.stdout))
        fault = f"its process ended with {done.returncode}: {(done.stderr.splitlines() or ['no word'])[-1]}"
    except subprocess.TimeoutExpired:
        fault = "its process hung, and was killed"
    variants = read_manifest(folder).variants
    wrong = {variant.key: fault for variant in variants if read_origins()[variant.op] == family}
    return Checked(runs={}, wrong=wrong, not_run={})


def check_pack(folder: Path, ends_at_s: float, advance: Callable[[str], None]) -> Checked:
    """Every family that the pack has, several at once."""
    families = sorted({read_origins()[variant.op] for variant in read_manifest(folder).variants})
    runs: dict[str, int] = {}
    wrong: dict[str, str] = {}
    not_run: dict[str, str] = {}
    with ThreadPoolExecutor(WORKERS) as pool:
        futures = {family: pool.submit(run_family, folder, family, ends_at_s) for family in families}
        for family, future in futures.items():
            checked = future.result()
            runs |= checked.runs
            wrong |= checked.wrong
            not_run |= checked.not_run
            advance(f"{family}: {len(checked.wrong)} wrong of {len(checked.runs)}")
    return Checked(runs=runs, wrong=wrong, not_run=not_run)


def main(folder: str, family: str, ends_at_s: str) -> None:
    """Print one family's Checked as JSON."""
    print(json.dumps(asdict(check_family(Path(folder), family, float(ends_at_s)))))  # a program


if __name__ == "__main__":
    main(*sys.argv[1:])
