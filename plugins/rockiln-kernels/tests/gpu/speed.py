"""A pack on a card → times of every variant of the timed calls, beside the card's ceilings and the framework's ops."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from gpu.calls import TimedCall, list_calls, pick_models
from gpu.framework import find_torch, measure_framework, measure_product
from gpu.machine import CudaError, CudaMachine
from harness.execute import execute_on, prepare
from rockiln_kernels.call import Rejected
from rockiln_kernels.launcher import LaunchError
from rockiln_kernels.pack.build import Pack
from rockiln_kernels.pack.manifest import VariantEntry, read_manifest
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


def measure_pack(
    machine: CudaMachine, folder: Path, wrong: Collection[str], ends_at_s: float, advance: Callable[[str], None]
) -> Row:
    """`calls`: one row each; `not_timed`: op → why; `late_calls`: what there was no time for; `fault`: what ended it.

    Variants in `wrong` are left out: a time of theirs says nothing, and a fault would end all.
    """
    manifest = read_manifest(folder)
    own = tuple(variant for variant in manifest.variants if variant.key not in wrong)
    rows: list[Row] = []
    late: list[str] = []
    fault = ""
    for call in list_calls(pick_models()):
        if fault or time.time() > ends_at_s:
            late.append(f"{call.op}, {call.shape}")
            continue
        try:
            found = _measure_call(machine, Pack(manifest=manifest, code={}), own, call)
        except CudaError as error:
            fault = f"{call.op}, {call.shape}: {error}"
            continue
        rows += found
        advance(f"{call.op}, {call.shape}: {len(found)} variants")
    timed = {row["variant"].partition("/")[0] for row in rows}
    reason = "no shape for it here, no right variant that takes it, or late"
    return {
        "calls": rows,
        "not_timed": {op: reason for op in read_table() if op not in timed},
        "late_calls": late,
        "fault": fault,
    }


def _measure_call(machine: CudaMachine, pack: Pack, variants: tuple[VariantEntry, ...], call: TimedCall) -> list[Row]:
    taking = [item for item in variants if (item.op, item.cell) == (call.op, call.cell)]
    found = [row for variant in taking if (row := _measure_variant(machine, pack, variant, call))]
    if not found:
        return []
    torch, reason = find_torch()
    framework_us, why = measure_framework(torch, call) if torch else (0.0, reason)
    return [{**row, "framework_us": framework_us or why} for row in found]


def _measure_variant(machine: CudaMachine, pack: Pack, variant: VariantEntry, call: TimedCall) -> Row:
    """Empty where the variant does not take the call."""
    prepared = prepare(read_table()[call.op], call.cell, call.case, pack, variant)
    if isinstance(prepared, Rejected):
        return {}
    machine.free()
    try:
        outputs = execute_on(machine, prepared, call.case)
        launches = tuple(machine.launches)

        def relaunch() -> None:
            for launch, addresses in launches:
                machine.launch(launch, addresses)

        once_us = machine.measure_us(relaunch)
    except LaunchError as error:
        return {"variant": variant.key, "shape": call.shape, "refused": f"{error.status.name}: {error}"}
    machine.free()
    moved = sum(array.nbytes for array in (*call.case.arrays.values(), *outputs.values()))
    return {"variant": variant.key, "shape": call.shape, **_count_rates(call, moved, once_us)}


def _count_rates(call: TimedCall, moved_bytes: int, once_us: float) -> Mapping[str, float]:
    """Bytes of inputs and outputs, each counted once, and operations, a second."""
    rates: dict[str, float] = {"us": round(once_us, 3), "bytes_per_s": round(moved_bytes / once_us * 1e6)}
    if call.operations:
        rates["operations_per_s"] = round(call.operations / once_us * 1e6)
    return rates
