"""Shapes and dtypes of tensors → a Call of rockiln_kernels, and what its outputs are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from rockiln_kernels.call import ArrayValue, Call, Rejected, check_call
from rockiln_kernels.expressions import Value
from rockiln_kernels.selection.call_text import count_strides, format_call
from rockiln_tensorflow.dtypes import find_dtype, name_dtype
from rockiln_tensorflow.forms import OpForm, make_form, name_op_type
from rockiln_tensorflow.native import read_wrappers

WIDE = "float64"
"""Taken for f32 by the compositions, so that gradients can be checked in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpParams:
    """What a call carries beside its tensors; hashable."""

    present: tuple[bool, ...]
    """Of each input of the spec."""
    scalars: tuple[Value, ...]
    dtypes: tuple[str, ...]
    """Of each axis that no input decides, in the spec's order."""

    def spread(self, tensors: Sequence[Any]) -> list[Any]:
        """One entry an input of the spec, None where it is absent."""
        rest = iter(tensors)
        return [next(rest) if is_there else None for is_there in self.present]


def is_known(tensors: Sequence[Any]) -> bool:
    """Whether every dim is known while a function is traced."""
    return all(tensor.shape.is_fully_defined() for tensor in tensors)


def is_wide(tensors: Sequence[Any]) -> bool:
    """Whether a double is among them: no kernel takes one."""
    return any(tensor.dtype.name == WIDE for tensor in tensors)


def make_call(form: OpForm, params: OpParams, tensors: Sequence[Any]) -> Call:
    """The call, of tensors whose dims are known. TensorFlow's are contiguous, and aligned."""
    given = zip(form.spec.inputs, params.spread(tensors), strict=True)
    return Call(
        op=form.spec.name,
        arrays={
            array.name: ArrayValue(
                shape=tuple(value.shape.as_list()),
                strides=count_strides(tuple(value.shape.as_list())),
                dtype=_name(value.dtype),
            )
            for array, value in given
            if value is not None
        },
        scalars=dict(zip((scalar.name for scalar in form.spec.scalars), params.scalars, strict=True)),
        dtypes=dict(zip(form.open_axes, params.dtypes, strict=True)),
    )


def _name(dtype: Any) -> str:
    name = name_dtype(dtype)
    return "f32" if name == WIDE else name


def check_tensors(form: OpForm, params: OpParams, tensors: Sequence[Any]) -> None:
    """Raise TypeError or ValueError, with the rule, for what the op refuses; of unknown dims, what is wrong already."""
    if is_known(tensors):
        _check_known(form.spec.name, params, tuple(Dims(tensor.shape, tensor.dtype) for tensor in tensors))
        return
    shapes = tuple((tuple(tensor.shape) if tensor.shape.rank is not None else None, tensor.dtype) for tensor in tensors)
    _check_partly(form.spec.name, params, shapes)


class Dims(NamedTuple):
    """What is checked of a tensor."""

    shape: Any
    dtype: Any


@lru_cache(maxsize=1024)
def _check_known(op: str, params: OpParams, tensors: tuple[Dims, ...]) -> None:
    """Once for what is accepted: an eager call takes a sixth of its time for this."""
    form = make_form(op)
    call = make_call(form, params, tensors)
    accepted = check_call(form.spec, call)
    if isinstance(accepted, Rejected):
        kind = TypeError if accepted.kind == "type" else ValueError
        raise kind(f"{accepted.reason} [{format_call(call)}]")


@lru_cache(maxsize=1024)
def _check_partly(op: str, params: OpParams, shapes: tuple[tuple[Any, Any], ...]) -> None:
    """By the op's own shape function, in a graph that is thrown away. The rank has to be known."""
    import tensorflow as tf

    form = make_form(op)
    for name, (shape, _) in zip(form.name_given(params.present), shapes, strict=True):
        if shape is None:
            raise ValueError(f"{op}: the number of dims of {name} is not known while the function is traced")
    with tf.Graph().as_default():
        given = [
            tf.compat.v1.placeholder(tf.float32 if dtype.name == WIDE else dtype, shape) for shape, dtype in shapes
        ]
        run_op(form, params, given)


def run_op(form: OpForm, params: OpParams, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """The op of TensorFlow's registry: its outputs. There is a kernel for GPUs only."""
    arguments: dict[str, Any] = {}
    for array, value in zip(form.spec.inputs, params.spread(tensors), strict=True):
        arguments[array.name] = value if not array.optional else [] if value is None else [value]
    arguments |= dict(zip((scalar.name for scalar in form.spec.scalars), params.scalars, strict=True))
    shown = {axis for axis, _ in form.fixed}
    for axis, dtype in zip(form.open_axes, params.dtypes, strict=True):
        if axis not in shown:
            arguments[axis] = dtype if axis == form.format_axis else find_dtype(dtype)
    outputs = getattr(read_wrappers(), name_op_type(form.spec.name))(**arguments)
    return tuple(outputs) if len(form.spec.outputs) > 1 else (outputs,)
