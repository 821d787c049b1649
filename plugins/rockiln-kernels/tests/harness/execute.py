"""A pack, a variant and a case → the outputs that the compiled code writes: in gfxemu, or on another Machine."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from harness.case import Array, Case, numpy_dtype
from harness.derived import list_far_arrays
from rockiln_kernels.bind import Bound, BoundLaunch, bind_variant, pack_kernarg
from rockiln_kernels.call import Accepted, ArrayValue, Call, Rejected, check_call, output_shape
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.pack.build import Pack
from rockiln_kernels.pack.manifest import VariantEntry
from rockiln_kernels.spec import OpSpec

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
    for name in list_far_arrays(spec, case) if case.row_step else ():
        arrays[name] = replace(arrays[name], strides=(case.row_step, *arrays[name].strides[1:]))
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


PLACES = ("within", "early", "late")
"""Where a multiple of 4 GiB lies in every array: at 13/32 of it, behind its first 16 bytes, before its last ones."""


def pick_place(case: Case) -> str:
    """One of PLACES for a case, by its name: over all cases, each kind of address carries somewhere."""
    return PLACES[zlib.crc32(case.name.encode()) % len(PLACES)]


class EmulatedMachine:
    """gfxemu itself. A multiple of 4 GiB lies within every array, at `place`, so that addresses carry."""

    def __init__(
        self, pack: Pack, *, order: Any = "forward", step_limit: int = 50_000_000, place: str = PLACES[0]
    ) -> None:
        import gfxemu

        self._pack, self._order, self._step_limit, self._place = pack, order, step_limit, place
        self._memory = gfxemu.Memory()

    def allocate(self, content: bytes, name: str) -> int:
        from gfxemu.memory import GUARD

        boundary = ((self._memory.next + GUARD + len(content) >> 32) + 1) << 32
        pieces = len(content) // 16
        before = {"within": len(content) * 13 // 512, "early": min(1, pieces), "late": max(0, pieces - 1)}
        self._memory.next = boundary - before[self._place] * 16 - GUARD
        address: int = self._memory.allocate(content, name=name, alignment=16)
        return address

    def allocate_rows(self, rows: Sequence[bytes], step_bytes: int, name: str) -> int:
        """Each row in memory of its own, `step_bytes` from the one before; the first one's address."""
        from gfxemu.memory import GUARD, Buffer

        address = self.allocate(rows[0], name)
        for number, row in enumerate(rows[1:], 1):
            store = ctypes.create_string_buffer(row, len(row))
            self._memory.insert(
                Buffer(
                    name=f"{name}[{number}]", address=address + number * step_bytes, size=len(row),
                    host=ctypes.addressof(store), writable=False, keep=store,
                )
            )  # fmt: skip
        self._memory.next = max(self._memory.next, address + len(rows) * step_bytes + GUARD)
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
    prepared: Prepared,
    case: Case,
    pack: Pack,
    *,
    order: Any = "forward",
    step_limit: int = 50_000_000,
    place: str = "",
) -> Mapping[str, Array]:
    """Every output by name, arrays placed as the case picks if `place` is empty. Faults are raised as they are."""
    machine = EmulatedMachine(pack, order=order, step_limit=step_limit, place=place or pick_place(case))
    return execute_on(machine, prepared, case)


def execute_on(machine: Machine, prepared: Prepared, case: Case) -> Mapping[str, Array]:
    """Every output by name, from a machine that launches."""
    addresses = {array.name: 0 for array in prepared.spec.inputs if array.optional}  # absent ones stay null
    addresses |= {name: _place(machine, prepared.spec, name, case) for name in case.arrays}
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


def _place(machine: Machine, spec: OpSpec, name: str, case: Case) -> int:
    """Copy an input, its gaps too; a misaligned one starts one element behind an aligned address."""
    array = case.arrays[name]
    pad = array.itemsize if case.is_misaligned else 0
    if case.row_step and name in list_far_arrays(spec, case):
        if not isinstance(machine, EmulatedMachine):
            raise TypeError(f"{case.name}: only emulated memory has rows so far apart")
        rows = [b"\0" * pad + np.ascontiguousarray(row).tobytes() for row in array]
        return machine.allocate_rows(rows, case.row_step * array.itemsize, name) + pad
    span = array.itemsize + sum((size - 1) * step for size, step in zip(array.shape, array.strides, strict=True))
    content = ctypes.string_at(array.ctypes.data, span) if array.size else b"\0"
    return machine.allocate(b"\0" * pad + content, name) + pad
