"""A call of an op, against its OpSpec → Accepted | Rejected(reason). Pure data, no framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isnan
from numbers import Integral, Real
from typing import Literal

from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.expressions import Value, evaluate_expression, read_names
from rockiln_kernels.spec import ArraySpec, OpSpec, ScalarSpec

Misfit = Literal["type", "value", "layout"]
"""What is wrong with a call: names and dtypes; sizes and numbers; or only strides, which a contiguous copy mends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayValue:
    """What of an array decides whether and how an op can run. Strides in elements, `alignment` in bytes."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    alignment: int = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An op's arguments, as any framework can state them. Outputs are absent: the op says what they are."""

    op: str
    arrays: Mapping[str, ArrayValue]
    scalars: Mapping[str, Value] = field(default_factory=dict)
    dtypes: Mapping[str, str] = field(default_factory=dict)
    """Dtype axes that no input decides: {"Q": "e4m3"} for a quantised output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The call fits the op. `names` holds dims, NAME_stride, has_NAME and scalars for formulas."""

    cell: str
    names: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """The call does not fit; `reason` is a sentence for a person."""

    reason: str
    kind: Misfit = "value"


class _Misfit(Exception):  # noqa: N818  # never leaves this module
    def __init__(self, reason: str, kind: Misfit = "value") -> None:
        super().__init__(reason)
        self.kind: Misfit = kind


def check_call(spec: OpSpec, call: Call) -> Accepted | Rejected:
    """Whether `call` fits `spec`: arrays present, dtypes, dims, layout, scalars, then every constraint."""
    try:
        present = _require_arrays(spec, call)
        cell = _bind_dtypes(spec, present, call.dtypes)
        names: dict[str, Value] = _bind_scalars(spec, call)
        names.update({f"has_{array.name}": int(array.name in present) for array in spec.inputs if array.optional})
        for array in sorted(spec.inputs, key=lambda array: not all(dim.isidentifier() for dim in array.dims)):
            if array.name in present:
                _bind_dims(array, present[array.name], names)
    except _Misfit as misfit:
        return Rejected(reason=f"{spec.name}: {misfit}", kind=misfit.kind)
    for constraint in spec.constraints:
        if not evaluate_expression(constraint.formula, names):
            return Rejected(reason=f"{spec.name}: {constraint.reason}")
    return Accepted(cell=cell, names=names)


def output_shape(array: ArraySpec, names: Mapping[str, Value]) -> tuple[int, ...]:
    """The shape of an output, its leading dims folded."""
    return tuple(int(evaluate_expression(dim, names)) for dim in array.dims)


def _require_arrays(spec: OpSpec, call: Call) -> dict[str, ArrayValue]:
    known = {array.name for array in spec.inputs}
    if unknown := sorted(set(call.arrays) - known):
        raise _Misfit(f"no input is called {unknown[0]!r}", "type")
    if missing := [array.name for array in spec.inputs if not array.optional and array.name not in call.arrays]:
        raise _Misfit(f"{missing[0]} is missing", "type")
    return dict(call.arrays)


def _bind_dtypes(spec: OpSpec, present: Mapping[str, ArrayValue], asked: Mapping[str, str]) -> str:
    axes = dict(spec.dtype_axes)
    bound: dict[str, str] = dict(asked)
    for axis, dtype in asked.items():
        if dtype not in axes.get(axis, ()):
            raise _Misfit(f"{axis} = {dtype} is not one of {', '.join(axes.get(axis, ('nothing',)))}", "type")
    for array in spec.inputs:
        value = present.get(array.name)
        if value is None:
            continue
        if array.dtype in DTYPES and value.dtype != array.dtype:
            raise _Misfit(f"{array.name} is {value.dtype}, not {array.dtype}", "type")
        if array.dtype in axes and value.dtype not in axes[array.dtype]:
            raise _Misfit(f"{array.name} is {value.dtype}, not one of {', '.join(axes[array.dtype])}", "type")
        if array.dtype in axes and bound.setdefault(array.dtype, value.dtype) != value.dtype:
            raise _Misfit(f"{array.name} is {value.dtype}, other arrays are {bound[array.dtype]}", "type")
    if open_axes := [axis for axis in axes if axis not in bound]:
        raise _Misfit(f"the dtype {open_axes[0]} is missing: one of {', '.join(axes[open_axes[0]])}", "type")
    return "-".join(bound[axis] for axis in axes)


def _bind_scalars(spec: OpSpec, call: Call) -> dict[str, Value]:
    if unknown := sorted(set(call.scalars) - {scalar.name for scalar in spec.scalars}):
        raise _Misfit(f"no scalar is called {unknown[0]!r}", "type")
    values: dict[str, Value] = {}
    for scalar in spec.scalars:
        value = call.scalars.get(scalar.name, scalar.default)
        if value is None:
            raise _Misfit(f"{scalar.name} is missing", "type")
        _check_number(scalar, value)
        values[scalar.name] = value
    return values


def _check_number(scalar: ScalarSpec, value: Value) -> None:
    if not isinstance(value, Real):
        raise _Misfit(f"{scalar.name} is {value!r}, no number", "type")
    is_whole = isinstance(value, Integral)  # of any size: not all of them can be a float
    if not is_whole and isnan(value):
        raise _Misfit(f"{scalar.name} is NaN")
    if scalar.kind == "i32" and not (is_whole or float(value).is_integer()):
        raise _Misfit(f"{scalar.name} is {value!r}, not a whole number", "type")
    if scalar.kind == "bool" and value not in (0, 1):
        raise _Misfit(f"{scalar.name} is {value!r}, not bool", "type")


def _bind_dims(array: ArraySpec, value: ArrayValue, names: dict[str, Value]) -> None:
    if len(value.strides) != len(value.shape):
        raise _Misfit(f"{array.name} has {len(value.shape)} dims and {len(value.strides)} strides", "type")
    if any(size < 0 for size in value.shape):
        raise _Misfit(f"{array.name} has a negative size: {list(value.shape)}")
    shape, strides = _fold_leading(array, value)
    if len(shape) != len(array.dims):
        raise _Misfit(f"{array.name} has {len(value.shape)} dims, not {len(array.dims)} ({', '.join(array.dims)})")
    for dim, size in zip(array.dims, shape, strict=True):
        if dim.isidentifier():
            expected = names.setdefault(dim, size)
        elif read_names(dim) <= names.keys():
            expected = evaluate_expression(dim, names)
        else:
            raise _Misfit(f"{array.name}: {dim} cannot be known before it")
        if size != expected:
            raise _Misfit(f"{array.name} has {dim} = {size}, expected {expected}")
    _check_layout(array, shape, strides)
    if array.layout == "rows":
        names[f"{array.name}_stride"] = strides[0]


def _fold_leading(array: ArraySpec, value: ArrayValue) -> tuple[tuple[int, ...], tuple[int, ...]]:
    extra = len(value.shape) - len(array.dims)
    if not array.folds_leading or extra == 0:
        return value.shape, value.strides
    if extra < 0:
        return (1, *value.shape), (value.shape[-1] if value.shape else 1, *value.strides)
    for outer in range(extra):
        steps = value.strides[outer + 1] * value.shape[outer + 1]
        if value.strides[outer] != steps and value.shape[outer] != 1 and 0 not in value.shape:
            raise _Misfit(f"{array.name}: leading dims are not contiguous, so they do not fold into one", "layout")
    folded = 1
    for size in value.shape[: extra + 1]:
        folded *= size
    return (folded, *value.shape[extra + 1 :]), value.strides[extra:]


def _check_layout(array: ArraySpec, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    step = 1
    first = 1 if array.layout == "rows" else 0
    for dim in range(len(shape) - 1, first - 1, -1):
        if shape[dim] > 1 and strides[dim] != step and 0 not in shape:
            what = "contiguous" if array.layout == "contiguous" else "contiguous within a row"
            raise _Misfit(f"{array.name} is not {what}", "layout")
        step *= shape[dim]
