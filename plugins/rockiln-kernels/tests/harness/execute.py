"""A pack, a variant and a case → the outputs that the compiled code writes: in gfxemu, or on another Machine."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from harness.case import Array, Case, numpy_dtype
from rockiln_kernels.bind import Bound, BoundLaunch, bind_variant, pack_kernarg
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.pack.build import Pack
from rockiln_kernels.pack.manifest import VariantEntry
from rockiln_kernels.spec import Accepted, ArrayValue, Call, OpSpec, Rejected, check_call, output_shape

POISON, INTEGER_POISON = 0xFF, 0x7B
"""Every output and workspace byte before a launch: a NaN in every float type but e4m3fnuz and e5m2fnuz; for i32, where
-1 says "none", a large number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A case that a variant can take."""

    spec: OpSpec
    accepted: Accepted
    bound: Bound


def describe_call(spec: OpSpec, cell: str, case: Case) -> Call:
    """The case as selection sees it."""
    arrays = {name: _describe_array(spec, cell, name, array) for name, array in case.arrays.items()}
    inputs = {array.dtype for array in spec.inputs}
    open_axes = {axis: dtype for axis, dtype in spec.cell_dtypes(cell).items() if axis not in inputs}
    return Call(op=spec.name, arrays=arrays, scalars=dict(case.scalars), dtypes=open_axes)


def _describe_array(spec: OpSpec, cell: str, name: str, array: Array) -> ArrayValue:
    dtype = next(item.dtype for item in spec.inputs if item.name == name)
    strides = tuple(step // array.itemsize for step in array.strides)
    return ArrayValue(shape=array.shape, strides=strides, dtype=spec.cell_dtypes(cell).get(dtype, dtype))


def prepare(spec: OpSpec, cell: str, case: Case, pack: Pack, variant: VariantEntry) -> Prepared | Rejected:
    """Whether `variant` takes the case, or why not. Raises ValueError if the op itself refuses it."""
    accepted = check_call(spec, describe_call(spec, cell, case))
    if isinstance(accepted, Rejected):
        raise ValueError(f"{case.name}: {accepted.reason}")  # noqa: TRY004  # a wrong value, of the right type
    alignments = {name: array.itemsize for name, array in case.arrays.items()} if case.is_misaligned else {}
    bound = bind_variant(pack.manifest, variant, accepted.names, alignments)
    if isinstance(bound, Rejected):
        return bound
    return Prepared(spec=spec, accepted=accepted, bound=bound)


class Machine(Protocol):
    """What code runs on: memory that the tests fill and read, and launches in it."""

    def allocate(self, content: bytes, name: str) -> int:
        """Memory with this content, at a multiple of 16; its address."""
        ...

    def read(self, address: int, size: int) -> bytes:
        """Bytes of it."""
        ...

    def launch(self, launch: BoundLaunch, addresses: Mapping[str, int]) -> None:
        """One kernel, to its end."""
        ...


class EmulatedMachine:
    """gfxemu itself. A place within every array is at a multiple of 4 GiB, so that addresses carry."""

    def __init__(self, pack: Pack, *, order: Any = "forward", step_limit: int = 50_000_000) -> None:
        import gfxemu

        self._pack, self._order, self._step_limit = pack, order, step_limit
        self._memory = gfxemu.Memory()

    def allocate(self, content: bytes, name: str) -> int:
        from gfxemu.memory import GUARD

        boundary = ((self._memory.next + GUARD + len(content) >> 32) + 1) << 32
        self._memory.next = boundary - len(content) * 13 // 512 * 16 - GUARD
        address: int = self._memory.allocate(content, name=name, alignment=16)
        return address

    def read(self, address: int, size: int) -> bytes:
        content: bytes = self._memory.read(address, size)
        return content

    def launch(self, launch: BoundLaunch, addresses: Mapping[str, int]) -> None:
        import gfxemu

        gfxemu.launch(
            load_code(self._pack.code[launch.kernel.file]).kernels[launch.kernel.symbol],
            grid=launch.grid,
            block=(launch.kernel.threads, 1, 1),
            kernarg=pack_kernarg(launch, addresses),
            memory=self._memory,
            shared_bytes=launch.kernel.shared_bytes,
            order=self._order,
            step_limit=self._step_limit,
        )


def execute(
    prepared: Prepared, case: Case, pack: Pack, *, order: Any = "forward", step_limit: int = 50_000_000
) -> Mapping[str, Array]:
    """Every output by name. Faults of the emulator are raised as they are."""
    return execute_on(EmulatedMachine(pack, order=order, step_limit=step_limit), prepared, case)


def execute_on(machine: Machine, prepared: Prepared, case: Case) -> Mapping[str, Array]:
    """Every output by name, from a machine that launches."""
    addresses = {array.name: 0 for array in prepared.spec.inputs if array.optional}  # absent ones stay null
    addresses |= {name: _place(machine, name, array, case) for name, array in case.arrays.items()}
    shapes = {array.name: output_shape(array, prepared.accepted.names) for array in prepared.spec.outputs}
    types = {array.name: _output_dtype(prepared, array.dtype) for array in prepared.spec.outputs}
    sizes = {name: int(np.prod(shape)) * types[name].itemsize for name, shape in shapes.items()}
    spaces = prepared.bound.workspaces.items()
    sizes |= {name: count * DTYPES[dtype].size_bytes for name, (dtype, count) in spaces}
    integers = {name for name, dtype in types.items() if dtype == np.int32}
    integers |= {name for name, (dtype, _) in spaces if dtype == "i32"}
    for name, size in sizes.items():
        poison = INTEGER_POISON if name in integers else POISON
        addresses[name] = machine.allocate(bytes([poison]) * max(size, 1), name)
    for launch in prepared.bound.launches:
        if not launch.is_empty:
            machine.launch(launch, addresses)
    read = {name: machine.read(addresses[name], sizes[name]) for name in shapes}
    return {name: np.frombuffer(read[name], types[name]).reshape(shape) for name, shape in shapes.items()}


@lru_cache(maxsize=32)
def load_code(code: bytes) -> Any:
    """gfxemu's CodeObject: decoding takes longer than most runs, so cases share it."""
    import gfxemu

    return gfxemu.load(code)


def _output_dtype(prepared: Prepared, dtype: str) -> np.dtype[Any]:
    own = prepared.spec.cell_dtypes(prepared.accepted.cell).get(dtype, dtype)
    return numpy_dtype(own)


def _place(machine: Machine, name: str, array: Array, case: Case) -> int:
    """Copy an input, its gaps too; a misaligned one starts one element behind an aligned address."""
    pad = array.itemsize if case.is_misaligned else 0
    span = array.itemsize + sum((size - 1) * step for size, step in zip(array.shape, array.strides, strict=True))
    content = ctypes.string_at(array.ctypes.data, span) if array.size else b"\0"
    return machine.allocate(b"\0" * pad + content, name) + pad
