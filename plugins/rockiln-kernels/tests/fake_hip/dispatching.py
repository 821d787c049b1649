"""A fake GPU with packs → the dispatcher of librockiln over it, and calls of cases with their memory."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fake_hip.libraries import build_launcher
from fake_hip.machine import FakeHip
from harness.case import Array, Case, numpy_dtype
from harness.execute import POISON, describe_call
from rockiln_kernels.call import Call
from rockiln_kernels.dispatch import Argument, Dispatcher, HeldPlan, Settings, install, uninstall
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.expressions import Value
from rockiln_kernels.spec import OpSpec

EMULATED = {"ROCKILN_EMULATED_OK": "1", "ROCKILN_RECORDS": "/nowhere"}


@contextmanager
def install_over(hip: FakeHip, packs: Mapping[str, Path], **settings: Any) -> Iterator[Dispatcher]:
    """librockiln as in the wheel, with `hip` as its driver, and emulated variants taken unless `environ` says else."""
    environ = settings.pop("environ", EMULATED)
    chosen = Settings(driver=str(hip.path), library=build_launcher(), packs=packs, environ=environ, **settings)
    try:
        yield install(chosen)
    finally:
        uninstall()


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedCall:
    """A call with addresses, in the OpSpec's order."""

    op: str
    inputs: tuple[Argument | None, ...]
    scalars: tuple[tuple[str, Value] | None, ...]
    dtypes: tuple[str, ...]

    def find_plan(self, dispatcher: Dispatcher, **options: Any) -> HeldPlan:
        """Its plan."""
        return dispatcher.find_plan(self.op, self.inputs, scalars=self.scalars, dtypes=self.dtypes, **options)


def state_call(spec: OpSpec, call: Call, addresses: Mapping[str, int]) -> StatedCall:
    """As an adapter states it. `addresses` of the arrays that are there."""
    return StatedCall(
        op=spec.name,
        inputs=tuple(
            Argument(
                address=addresses.get(array.name, 0),
                shape=call.arrays[array.name].shape,
                strides=call.arrays[array.name].strides,
                dtype=call.arrays[array.name].dtype,
            )
            if array.name in call.arrays
            else None
            for array in spec.inputs
        ),
        scalars=tuple(
            ("f32" if scalar.kind == "f32" else "i32", call.scalars[scalar.name])
            if scalar.name in call.scalars
            else None
            for scalar in spec.scalars
        ),
        dtypes=tuple(call.dtypes.values()),
    )


def run_case(dispatcher: Dispatcher, hip: FakeHip, spec: OpSpec, cell: str, case: Case) -> Mapping[str, Array]:
    """Every output of a case that went through the dispatcher, by name."""
    kept: list[int] = []
    addresses = {name: _place(hip, array, case, kept) for name, array in case.arrays.items()}
    stated = state_call(spec, describe_call(spec, cell, case), addresses)
    plan = stated.find_plan(dispatcher)
    assert plan.facts.provider == "pack", plan.facts
    sizes = [int(np.prod(item.shape)) * DTYPES[item.dtype].size_bytes for item in plan.facts.outputs]
    outputs = [_allocate(hip, bytes([POISON]) * size, kept) for size in sizes]
    workspace = _allocate(hip, bytes([POISON]) * plan.facts.workspace_bytes, kept) if plan.facts.workspace_bytes else 0
    plan.run([item.address if item else 0 for item in stated.inputs], outputs, workspace=workspace)
    read = zip(plan.facts.outputs, outputs, sizes, strict=True)
    answers = {
        item.name: np.frombuffer(ctypes.string_at(address, size), numpy_dtype(item.dtype)).reshape(item.shape)
        for item, address, size in read
    }
    for address in kept:
        assert hip.library.hipFree(address) == 0
    return answers


def _allocate(hip: FakeHip, content: bytes, kept: list[int]) -> int:
    address = hip.allocate(max(len(content), 1))
    ctypes.memmove(address, content, len(content))
    kept.append(address)
    return address


def _place(hip: FakeHip, array: Array, case: Case, kept: list[int]) -> int:
    """Copy an input, its gaps too; a misaligned one starts one element behind an aligned address."""
    pad = array.itemsize if case.is_misaligned else 0
    span = array.itemsize + sum((size - 1) * step for size, step in zip(array.shape, array.strides, strict=True))
    content = ctypes.string_at(array.ctypes.data, span) if array.size else b"\0"
    return _allocate(hip, b"\0" * pad + content, kept) + pad
