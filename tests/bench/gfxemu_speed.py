"""Kernels of the prototype emulator → tests/bench/results/gfxemu.json: gfxemu's speed beside the prototype's.

`python tests/bench/gfxemu_speed.py PROTOTYPE KERNELS`: PROTOTYPE holds amdemu.py (numpy over the .amdgcn text), KERNELS
its kernels as ARCH.KERNEL.hsaco, ARCH.KERNEL.amdgcn and report.json. Neither is in this repository. CPU seconds of the
launch alone, best of five for gfxemu (code decoded before, all checks on) and of one for the prototype.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import struct
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import ml_dtypes
import numpy as np

import gfxemu

RESULT = Path(__file__).parent / "results" / "gfxemu.json"
BF16 = ml_dtypes.bfloat16
Launch = tuple[tuple[int, ...], tuple[Any, ...]]


def numbers(*shape: int) -> np.ndarray:
    """Random bf16."""
    return np.random.default_rng(1).standard_normal(shape).astype(BF16)


LAUNCHES: dict[str, Callable[[], Launch]] = {
    "rmsnorm": lambda: (
        (4,),
        (numbers(4, 1000), numbers(1000), numbers(4, 1000), np.zeros(4, np.float32), 1000, 1000, 1e-6),
    ),
    "silu_and_mul": lambda: ((4, 1), (numbers(4, 1024), numbers(4, 512), 512)),
    "rope_neox": lambda: ((4, 4), (numbers(4, 4, 128), numbers(4, 64), numbers(4, 64), numbers(4, 4, 128), 4, 128)),
    "gemm_silu": lambda: ((4,), (numbers(128, 128), numbers(128, 128), numbers(128), numbers(128, 128), *(128,) * 6)),
    "flash_fwd": lambda: (
        (2, 1, 1),
        (*(numbers(1, 100, 1, 64) for _ in range(4)), np.zeros((1, 1, 100), np.float32), 0.125, 100, 100, 1, 1),
    ),
}


def pack(args: Sequence[Any], addresses: Sequence[int]) -> bytes:
    """Kernel arguments as Triton lays them out, its scratch pointer last."""
    out, pointers = b"", iter(addresses)
    for value in args:
        size = 8 if isinstance(value, np.ndarray) else 4
        out += b"\0" * (-len(out) % size)
        if isinstance(value, np.ndarray):
            out += struct.pack("<Q", next(pointers))
        else:
            out += struct.pack("<f" if isinstance(value, float) else "<i", value)
    return out + b"\0" * (-len(out) % 8 + 8)


def time_gfxemu(path: Path, shared: int, threads: int, launch: Launch) -> tuple[float, int, list[bytes]]:
    """Best CPU seconds of five, wave instructions, final contents."""
    code = gfxemu.load(path.read_bytes())
    kernel = next(iter(code.kernels.values()))
    grid, args = launch
    best = float("inf")
    for _ in range(6):  # the first one decodes
        memory = gfxemu.Memory()
        arrays = [item for item in args if isinstance(item, np.ndarray)]
        places = [memory.allocate(item) for item in arrays]
        kernarg = pack(args, places)[: kernel.kernarg_size]
        start = time.process_time()
        counts = gfxemu.launch(kernel, grid=(*grid, *(1,) * (3 - len(grid))), block=(threads, 1, 1), kernarg=kernarg,
                               memory=memory, shared_bytes=shared)  # fmt: skip
        best = min(best, time.process_time() - start)
    return best, counts.total, [memory.read(at, item.nbytes) for at, item in zip(places, arrays, strict=True)]


def time_prototype(
    module: Any, path: Path, arch: str, shared: int, threads: int, launch: Launch
) -> tuple[float, list[bytes]]:
    """CPU seconds of one launch, final contents."""
    grid, args = launch
    arrays = [item for item in args if isinstance(item, np.ndarray)]
    memory = module.Mem()
    for item in arrays:
        memory.addnp(item)
    kernel = module.Kernel(path.read_text(), arch)
    kernarg = pack(args, [item.ctypes.data for item in arrays])
    start = time.process_time()
    kernel.launch(memory, (*grid, *(1,) * (3 - len(grid))), threads, shared, kernarg)
    return time.process_time() - start, [item.tobytes() for item in arrays]


def measure(module: Any, kernels: Path, row: dict[str, Any]) -> dict[str, Any]:
    """One kernel on one arch by both; their outputs must agree to bf16's rounding."""
    name, arch = row["kernel"], row["target"]
    threads = row["num_warps"] * (64 if arch.startswith("gfx9") else 32)
    launch = LAUNCHES[name]()
    new_s, instructions, new = time_gfxemu(kernels / f"{arch}.{name}.hsaco", row["shared"], threads, launch)
    old_s, old = time_prototype(
        module, kernels / f"{arch}.{name}.amdgcn", arch, row["shared"], threads, LAUNCHES[name]()
    )
    for ours, theirs, like in zip(new, old, (item for item in launch[1] if isinstance(item, np.ndarray)), strict=True):
        a, b = (np.frombuffer(raw, like.dtype).astype(np.float32) for raw in (ours, theirs))
        assert np.allclose(a, b, rtol=0.02, atol=0.02), f"{arch} {name}: the two emulators disagree"
    return {"arch": arch, "kernel": name, "wave_instructions": instructions, "gfxemu_ms": round(new_s * 1e3, 2),
            "prototype_ms": round(old_s * 1e3, 1), "ratio": round(old_s / new_s, 1)}  # fmt: skip


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prototype", type=Path)
    parser.add_argument("kernels", type=Path)
    options = parser.parse_args()
    sys.path.insert(0, str(options.prototype))
    module = importlib.import_module("amdemu")
    report = json.loads((options.kernels / "report.json").read_text())
    rows = [row for row in report if row["ok"] and row["kernel"] in LAUNCHES and row["target"] != "gfx90a"]
    results = [measure(module, options.kernels, row) for row in rows]
    ratios = sorted(row["ratio"] for row in results)
    summary = {"command": "python tests/bench/gfxemu_speed.py PROTOTYPE KERNELS", "version": gfxemu.__version__,
               "least_ratio": ratios[0], "median_ratio": ratios[len(ratios) // 2], "rows": results}  # fmt: skip
    RESULT.write_text(json.dumps(summary, indent=1) + "\n")
    sys.stdout.write(f"least {ratios[0]}, median {ratios[len(ratios) // 2]}\n")


if __name__ == "__main__":
    main()
