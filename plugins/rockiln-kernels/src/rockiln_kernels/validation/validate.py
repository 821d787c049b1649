"""A pack, a GPU → HardwareRecord. Each variant is run once for its numbers and then timed; nothing stops at a fault."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from rockiln_kernels.bind import Bound
from rockiln_kernels.call import Rejected, output_shape
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.launcher import LaunchError, LoadedPack, list_values
from rockiln_kernels.pack.manifest import Manifest, VariantEntry
from rockiln_kernels.selection.records import SCHEMA, HardwareRecord
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_origins, read_table
from rockiln_kernels.validation.compare import find_difference
from rockiln_kernels.validation.device import DeviceMemory
from rockiln_kernels.validation.inputs import Drawn, draw_inputs, fill_arrays, numpy_dtype

Array = np.ndarray[Any, Any]
Advance = Callable[[int, int], None]
_POISON = b"\xff"
_BATCHES, _LAUNCHES = 5, 10
_ROUND_INSIDE = ("attention_prefill", "paged_decode", "mla_decode", "fused_moe", "fused_moe_narrow")
"""Families whose kernels round weights, or a hidden layer, to the type of their outputs."""


def validate_pack(
    pack: LoadedPack,
    manifest: Manifest,
    memory: DeviceMemory,
    variants: Sequence[VariantEntry],
    *,
    elements: int,
    device: str,
    advance: Advance,
) -> HardwareRecord:
    """Run `variants` on the current device; what cannot be drawn is in `not_run`, with the reason."""
    passed: list[str] = []
    failed: dict[str, str] = {}
    not_run: dict[str, str] = {}
    times_us: dict[str, float] = {}
    for number, variant in enumerate(variants):
        advance(number, len(variants))
        drawn = _draw_known(manifest, variant, elements)
        if isinstance(drawn, Rejected):
            not_run[variant.key] = drawn.reason
            continue
        fault, time_us = _try_variant(pack, memory, read_table()[variant.op], variant, drawn)
        if fault:
            failed[variant.key] = fault
        else:
            passed.append(variant.key)
            times_us[variant.key] = round(time_us, 3)
    return HardwareRecord(
        schema=SCHEMA,
        arch=manifest.arch,
        pack_sha256=pack.sha256,
        device=device,
        passed=tuple(passed),
        failed=failed,
        not_run=not_run,
        times_us=times_us,
    )


def _draw_known(manifest: Manifest, variant: VariantEntry, elements: int) -> Drawn | Rejected:
    spec = read_table().get(variant.op)
    if spec is None or variant.cell not in spec.cells:
        return Rejected(reason=f"{variant.op} for {variant.cell} is no op that is known here")
    return draw_inputs(spec, manifest, variant, elements)


def _try_variant(
    pack: LoadedPack, memory: DeviceMemory, spec: OpSpec, variant: VariantEntry, drawn: Drawn
) -> tuple[str, float]:
    """What is wrong, if anything, and the median time of a call in microseconds."""
    try:
        arrays = fill_arrays(drawn, variant.key)
        addresses = _place_arrays(memory, spec, variant, drawn, arrays)
        _launch(pack, drawn.bound, addresses)
        fault = _compare(memory, spec, variant, drawn, arrays, addresses)
        return (fault, 0.0) if fault else ("", _time_call(pack, memory, drawn.bound, addresses))
    except LaunchError as error:
        return f"{error.status.name}: {error}", 0.0
    finally:
        memory.free()


def _place_arrays(
    memory: DeviceMemory, spec: OpSpec, variant: VariantEntry, drawn: Drawn, arrays: Mapping[str, Array]
) -> dict[str, int]:
    """Inputs as they are, outputs and workspaces full of NaN, absent inputs null."""
    addresses = {array.name: 0 for array in spec.inputs if array.optional}
    addresses |= {name: memory.place(array.tobytes()) for name, array in arrays.items()}
    for array in spec.outputs:
        dtype, shape = _describe_output(spec, variant, array.name, drawn)
        addresses[array.name] = memory.place(_POISON * prod(shape) * dtype.itemsize)
    for name, (space, count) in drawn.bound.workspaces.items():
        addresses[name] = memory.place(_POISON * count * DTYPES[space].size_bytes)
    return addresses


def _describe_output(
    spec: OpSpec, variant: VariantEntry, name: str, drawn: Drawn
) -> tuple[np.dtype[Any], tuple[int, ...]]:
    array = next(item for item in spec.outputs if item.name == name)
    own = spec.cell_dtypes(variant.cell).get(array.dtype, array.dtype)
    return numpy_dtype(own), output_shape(array, drawn.accepted.names)


def _launch(pack: LoadedPack, bound: Bound, addresses: Mapping[str, int]) -> None:
    for launch in bound.launches:
        if not launch.is_empty:
            pack.find_kernel(launch.key).launch(launch.grid, list_values(launch, addresses), op=bound.variant.op)


def _compare(
    memory: DeviceMemory,
    spec: OpSpec,
    variant: VariantEntry,
    drawn: Drawn,
    arrays: Mapping[str, Array],
    addresses: Mapping[str, int],
) -> str:
    want = _compute_reference(spec, variant, drawn, arrays)
    terms = max(max(array.shape, default=1) for array in arrays.values())
    faults = []
    for array in spec.outputs:
        dtype, shape = _describe_output(spec, variant, array.name, drawn)
        content = memory.read(addresses[array.name], prod(shape) * dtype.itemsize)
        own = spec.cell_dtypes(variant.cell).get(array.dtype, array.dtype)
        got = np.frombuffer(content, dtype).reshape(shape)
        rounds = read_origins()[spec.name] in _ROUND_INSIDE
        faults.append(find_difference(array.name, own, got, want[array.name], terms, rounds_inside=rounds))
    return "; ".join(fault for fault in faults if fault)


def _compute_reference(
    spec: OpSpec, variant: VariantEntry, drawn: Drawn, arrays: Mapping[str, Array]
) -> Mapping[str, Array]:
    family = import_module(f"rockiln_kernels.references.{read_origins()[spec.name]}")
    scalars: dict[str, Any] = {**drawn.scalars, **spec.cell_dtypes(variant.cell)}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        result: Mapping[str, Array] = family.REFERENCES[spec.name](arrays, scalars)
    return result


def _time_call(pack: LoadedPack, memory: DeviceMemory, bound: Bound, addresses: Mapping[str, int]) -> float:
    """Host time of a batch of calls, the wait for them included, by their number; the median of some batches."""
    times = []
    for _ in range(_BATCHES):
        memory.wait()
        start = time.perf_counter()
        for _ in range(_LAUNCHES):
            _launch(pack, bound, addresses)
        memory.wait()
        times.append((time.perf_counter() - start) / _LAUNCHES * 1e6)
    return statistics.median(times)
