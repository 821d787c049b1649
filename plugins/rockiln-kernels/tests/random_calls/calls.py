"""An op + random numbers → a Call: mostly one that fits, of any size, stride and alignment; some that do not."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from rockiln_kernels.call import ArrayValue, Call, Rejected, check_call
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.expressions import Value, evaluate_expression, read_names
from rockiln_kernels.spec import ArraySpec, OpSpec

_MODEL_DIMS = (64, 80, 128, 192, 576, 1024, 2048, 2880, 4096, 5120, 7168, 8192, 16384, 28672, 53248, 129280)
_HEADS = {
    "D": (64, 80, 128, 192), "DV": (64, 80, 128), "HQ": (1, 2, 8, 16, 40, 64), "HK": (1, 2, 8), "B": (1, 2, 5, 64),
    "B1": (2, 3, 6, 65), "BS": (1, 16, 64, 256), "E": (1, 8, 128, 256), "top": (1, 2, 4, 8),
}  # fmt: skip
"""Dims that mean something, by name: attention's and the experts'."""
_TRIES = 40


def draw_call(spec: OpSpec, random: Random) -> Call:
    """One call. Nine in ten are drawn again until the op accepts them, if that happens in some tries."""
    call = _draw_any(spec, random)
    for _ in range(_TRIES if random.random() < 0.9 else 0):
        if not isinstance(check_call(spec, call), Rejected):
            break
        call = _draw_any(spec, random)
    return call


def _draw_any(spec: OpSpec, random: Random) -> Call:
    cell = spec.cell_dtypes(random.choice(spec.cells))
    names: dict[str, Value] = {}
    scalars = {item.name: _draw_scalar(item.kind, item.default, random) for item in spec.scalars}
    arrays: dict[str, ArrayValue] = {}
    for array in sorted(spec.inputs, key=lambda item: not all(dim.isidentifier() for dim in item.dims)):
        if not array.optional or random.random() < 0.5:
            arrays[array.name] = _draw_array(array, cell, names, random)
    inputs = {array.dtype for array in spec.inputs}
    if random.random() < 0.02 and arrays:
        name = random.choice(sorted(arrays))
        arrays[name] = replace(arrays[name], shape=arrays[name].shape[1:], strides=arrays[name].strides[1:])
    return Call(
        op=spec.name,
        arrays=arrays,
        scalars=scalars,
        dtypes={axis: dtype for axis, dtype in cell.items() if axis not in inputs},
    )


def _draw_scalar(kind: str, default: Value | None, random: Random) -> Value:
    if default is not None and random.random() < 0.6:
        return default
    if kind == "bool":
        return random.random() < 0.5
    return random.uniform(0.0, 2.0) if kind == "f32" else random.choice((0, 1, 2, 4, 8, 16, 64, 128, 304))


def _draw_array(array: ArraySpec, cell: dict[str, str], names: dict[str, Value], random: Random) -> ArrayValue:
    shape = tuple(_draw_dim(dim, names, random) for dim in array.dims)
    dtype = cell.get(array.dtype, array.dtype)
    row = 1
    for size in shape[1:]:
        row *= max(size, 1)
    gap = random.choice((0, 0, 1, 16, 128)) if array.layout == "rows" else 0
    steps = [1]
    for size in reversed(shape[1:]):
        steps.append(steps[-1] * max(size, 1))
    strides = [*reversed(steps[: len(shape)])]
    if strides and array.layout == "rows":
        strides[0] = row + gap
    size_bytes = DTYPES[dtype].size_bytes
    alignment = random.choice((256, 256, 16, size_bytes))
    return ArrayValue(shape=shape, strides=tuple(strides), dtype=dtype, alignment=max(alignment, size_bytes))


def _draw_dim(dim: str, names: dict[str, Value], random: Random) -> int:
    if not dim.isidentifier():
        known = read_names(dim) <= names.keys()
        return int(evaluate_expression(dim, names)) if known else random.randrange(8)
    if dim not in names:
        kinds = (
            random.randrange(10), random.randrange(1, 300), 16 * random.randrange(1, 64),
            32 * random.randrange(1, 256), random.choice(_MODEL_DIMS), random.randrange(1, 70000),
        )  # fmt: skip
        names[dim] = random.choice(_HEADS.get(dim, kinds) if random.random() < 0.9 else kinds)
    return int(names[dim])
