"""A pack on a card → times of every variant of the timed calls, beside the card's ceilings and the framework's ops."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gpu.calls import TimedCall, list_calls, pick_models
from gpu.framework import find_torch, measure_framework, measure_product
from gpu.machine import CudaMachine
from harness.execute import execute_on, prepare
from rockiln_kernels.launcher import LaunchError
from rockiln_kernels.pack.build import Pack
from rockiln_kernels.pack.manifest import VariantEntry, read_manifest
from rockiln_kernels.spec import Rejected
from rockiln_kernels.table import read_table

COPIED_BYTES = 1 << 30
Row = dict[str, Any]


def measure_copy(machine: CudaMachine) -> float:
    """Bytes a second, read and written, of the driver's own copy within the card."""
    source, to = machine.reserve(COPIED_BYTES), machine.reserve(COPIED_BYTES)
    once_us = machine.measure_us(lambda: machine.copy(to, source, COPIED_BYTES))
    machine.free()
    return 2 * COPIED_BYTES / (once_us / 1e6)


def measure_ceilings(machine: CudaMachine) -> Row:
    """`copy_bytes_per_s`, and `product_operations_per_s` or why there is none."""
    torch, reason = find_torch()
    product = round(measure_product(torch)) if torch else reason
    return {"copy_bytes_per_s": round(measure_copy(machine)), "product_operations_per_s": product}


def measure_pack(machine: CudaMachine, folder: Path, ends_at_s: float, advance: Callable[[str], None]) -> Row:
    """`calls`: one row each; `not_timed`: op → why; `late_calls`: what there was no time for."""
    pack = Pack(manifest=read_manifest(folder), code={})
    torch, reason = find_torch()
    rows: list[Row] = []
    timed: set[str] = set()
    late: list[str] = []
    for call in list_calls(pick_models()):
        if time.time() > ends_at_s:
            late.append(f"{call.op}, {call.shape}")
            continue
        own = [item for item in pack.manifest.variants if (item.op, item.cell) == (call.op, call.cell)]
        found = [row for variant in own if (row := _measure_variant(machine, pack, variant, call))]
        framework_us, why = measure_framework(torch, call) if torch else (0.0, reason)
        rows += [{**row, "framework_us": framework_us or why} for row in found]
        timed |= {call.op} if found else set()
        advance(f"{call.op}, {call.shape}: {len(found)} variants")
    others = {op: "no shape for it here, no variant that takes it, or late" for op in read_table() if op not in timed}
    return {"calls": rows, "not_timed": others, "late_calls": late}


def _measure_variant(machine: CudaMachine, pack: Pack, variant: VariantEntry, call: TimedCall) -> Row:
    """Empty where the variant does not take the call."""
    prepared = prepare(read_table()[call.op], call.cell, call.case, pack, variant)
    if isinstance(prepared, Rejected):
        return {}
    try:
        outputs = execute_on(machine, prepared, call.case)
        launches = tuple(machine.launches)

        def relaunch() -> None:
            for launch, addresses in launches:
                machine.launch(launch, addresses)

        once_us = machine.measure_us(relaunch)
    except LaunchError as error:
        return {"variant": variant.key, "shape": call.shape, "refused": f"{error.status.name}: {error}"}
    finally:
        machine.free()
    moved = sum(array.nbytes for array in (*call.case.arrays.values(), *outputs.values()))
    return {"variant": variant.key, "shape": call.shape, **_count_rates(call, moved, once_us)}


def _count_rates(call: TimedCall, moved_bytes: int, once_us: float) -> Mapping[str, float]:
    """Bytes of inputs and outputs, each counted once, and operations, a second."""
    rates: dict[str, float] = {"us": round(once_us, 3), "bytes_per_s": round(moved_bytes / once_us * 1e6)}
    if call.operations:
        rates["operations_per_s"] = round(call.operations / once_us * 1e6)
    return rates
