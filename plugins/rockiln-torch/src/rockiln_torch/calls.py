"""An op's torch arguments → BoundCall, and whether it is a call of the op → what its outputs are, or a clear error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NoReturn

import torch

from rockiln_kernels.call import ArrayValue, Call, Rejected, check_call
from rockiln_kernels.outputs import list_outputs
from rockiln_kernels.selection.call_text import count_strides, format_call
from rockiln_kernels.spec import OpSpec
from rockiln_torch.dtypes import FLOATS, NAMES, TORCH_DTYPES, WIDE, name_dtype
from rockiln_torch.forms import OpForm, read_forms

Shape = tuple[int, ...]
ArrayKey = tuple[Shape, torch.dtype] | None
_I32 = range(-(2**31), 2**31)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputForm:
    """One output: its shape as the user sees it."""

    shape: Shape
    dtype: torch.dtype
    strides: Shape = ()
    """Those of a new tensor; () where sizes are symbolic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCall:
    """A call with every argument: tensors in the spec's order, absent ones None; scalars by name, all of them."""

    form: OpForm
    tensors: tuple[torch.Tensor | None, ...]
    scalars: Mapping[str, Any]
    out_dtype: torch.dtype | None
    fp6_format: int
    outputs: tuple[torch.Tensor, ...] = ()
    """Of an out-variant."""

    @property
    def words(self) -> dict[str, Any]:
        """What a composition takes by keyword: scalars, out_dtype, format."""
        words = dict(self.scalars)
        if self.form.dtype_axis:
            words["out_dtype"] = self.out_dtype
        if self.form.format_axis:
            words["format"] = self.form.formats[self.fp6_format]
        return words

    @property
    def axes(self) -> dict[str, str]:
        """Dtype axes that no input decides, by name. Raises ValueError for a format that there is not."""
        return _name_axes(self.form, self.out_dtype, self.fp6_format)


def bind_arguments(op: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> BoundCall:
    """As torch's dispatcher passes them: defaults may be left out. Raises TypeError if they do not fit."""
    form = read_forms()[op]
    inputs = form.spec.inputs
    tensors = list(args)
    for array in inputs[len(tensors) :]:
        if not array.optional and array.name not in kwargs:
            raise TypeError(f"rockiln::{op}: {array.name} is missing")
        tensors.append(kwargs.get(array.name))
    scalars = {scalar.name: kwargs.get(scalar.name, scalar.default) for scalar in form.spec.scalars}
    return BoundCall(
        form=form,
        tensors=tuple(tensors),
        scalars=scalars,
        out_dtype=kwargs.get("out_dtype"),
        fp6_format=kwargs.get("fp6_format", 0),
        outputs=tuple(kwargs[name] for name in form.out_names) if form.out_names[0] in kwargs else (),
    )


def check_arguments(call: BoundCall) -> tuple[OutputForm, ...]:
    """The outputs of a call with known sizes; strides do not matter. Raises TypeError or ValueError with the rule."""
    _check_tensors(call)
    arrays = tuple(None if tensor is None else (tuple(tensor.shape), tensor.dtype) for tensor in call.tensors)
    return _check_forms(call.form.spec.name, arrays, tuple(call.scalars.items()), call.out_dtype, call.fp6_format)


def check_devices(call: BoundCall) -> None:
    """Whether inputs, and the outputs of an out-variant, are on one device. Raises ValueError."""
    devices: dict[torch.device, str] = {}
    names = (*(array.name for array in call.form.spec.inputs), *call.form.out_names)
    for name, tensor in zip(names, (*call.tensors, *call.outputs), strict=False):
        if tensor is not None:
            devices.setdefault(tensor.device, name)
    if len(devices) > 1:
        places = ", ".join(f"{name} on {device}" for device, name in devices.items())
        raise ValueError(f"rockiln::{call.form.spec.name}: the tensors are not on one device: {places}")


def _check_tensors(call: BoundCall) -> None:
    for array, tensor in zip(call.form.spec.inputs, call.tensors, strict=True):
        if tensor is None:
            continue
        where = f"rockiln::{call.form.spec.name}: {array.name}"
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{where} is a {type(tensor).__name__}, not a tensor")
        check_layout(tensor, where)
    check_devices(call)


def check_layout(tensor: torch.Tensor, where: str) -> None:
    """Whether a tensor is no sparse one, nor oneDNN's own. Raises TypeError."""
    if tensor.layout is not torch.strided:
        raise TypeError(f"{where} is {str(tensor.layout).removeprefix('torch.')}, not strided; hint: to_dense()")


@lru_cache(maxsize=4096)
def _check_forms(
    op: str, arrays: tuple[ArrayKey, ...], scalars: tuple[tuple[str, Any], ...], out_dtype: torch.dtype | None, fp6: int
) -> tuple[OutputForm, ...]:
    form = read_forms()[op]
    spec = form.spec
    wide = {axis: dtype for axis, _ in spec.dtype_axes if (dtype := _find_wide(spec, axis, arrays))}
    values = {
        array.name: _make_value(spec, array.dtype, key, wide)
        for array, key in zip(spec.inputs, arrays, strict=True)
        if key is not None
    }
    call = Call(op=op, arrays=values, scalars=dict(scalars), dtypes=_name_axes(form, out_dtype, fp6))
    _check_scalars(call, spec)
    judged = check_call(spec, call)
    if isinstance(judged, Rejected):
        dtypes = {array.name: key[1] for array, key in zip(spec.inputs, arrays, strict=True) if key is not None}
        _refuse(judged, call, dtypes)
    is_double = torch.float64 in wide.values()
    return tuple(
        OutputForm(
            shape=output.shape,
            dtype=_find_output_dtype(array.dtype, output.dtype, wide, is_double=is_double),
            strides=count_strides(output.shape),
        )
        for array, output in zip(spec.outputs, list_outputs(spec, values, judged), strict=True)
    )


def _find_output_dtype(axis: str, dtype: str, wide: Mapping[str, torch.dtype], *, is_double: bool) -> torch.dtype:
    """A wide axis' own type; what is f32 beside narrower numbers is f64 beside f64."""
    if axis in wide:
        return wide[axis]
    return torch.float64 if is_double and dtype == "f32" else TORCH_DTYPES[dtype]


def _find_wide(spec: OpSpec, axis: str, arrays: tuple[ArrayKey, ...]) -> torch.dtype | None:
    """The dtype that all arrays of an axis share, if no kernel takes it and compositions do."""
    members = dict(spec.dtype_axes)[axis]
    found = {key[1] for array, key in zip(spec.inputs, arrays, strict=True) if key and array.dtype == axis}
    if len(found) != 1 or not set(members) <= FLOATS:
        return None
    (dtype,) = found
    return dtype if dtype in WIDE and NAMES.get(dtype) not in members else None


def _make_value(spec: OpSpec, axis: str, key: tuple[Shape, torch.dtype], wide: Mapping[str, torch.dtype]) -> ArrayValue:
    shape, dtype = key
    name = dict(spec.dtype_axes)[axis][0] if axis in wide else name_dtype(dtype)
    if axis == "f32" and dtype is torch.float64 and torch.float64 in wide.values():
        name = "f32"
    return ArrayValue(shape=shape, strides=count_strides(shape), dtype=name)


def _name_axes(form: OpForm, out_dtype: torch.dtype | None, fp6: int) -> dict[str, str]:
    axes = {}
    if form.dtype_axis and out_dtype is not None:
        axes[form.dtype_axis] = name_dtype(out_dtype)
    if form.format_axis:
        if fp6 not in range(len(form.formats)):
            raise ValueError(f"rockiln::{form.spec.name}: fp6_format is {fp6}, not one of 0 to {len(form.formats) - 1}")
        axes[form.format_axis] = form.formats[fp6]
    if form.fixed_dtype:
        shown = {array.dtype for array in form.spec.inputs}
        axes.update({axis: form.fixed_dtype for axis, _ in form.spec.dtype_axes if axis not in shown})
    return axes


def _check_scalars(call: Call, spec: OpSpec) -> None:
    for scalar in spec.scalars:
        value = call.scalars.get(scalar.name)
        if scalar.kind == "i32" and isinstance(value, int) and value not in _I32:
            raise ValueError(f"rockiln::{call.op}: {scalar.name} = {value} does not fit into 32 bits")


def _refuse(judged: Rejected, call: Call, dtypes: Mapping[str, torch.dtype]) -> NoReturn:
    """With the dtypes that were given: a wide one is judged as one that kernels take."""
    given = {name: replace(value, dtype=name_dtype(dtypes[name])) for name, value in call.arrays.items()}
    error = TypeError if judged.kind == "type" else ValueError
    raise error(f"rockiln::{judged.reason}; got {format_call(replace(call, arrays=given))}")
