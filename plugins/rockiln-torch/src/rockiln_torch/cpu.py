"""Calls on CPU tensors ↔ rockiln_op_call: whether a kernel for CPUs runs one, and what a profile says of it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_int64, c_uint32
from typing import Any

import torch

from rockiln_kernels.call import ArrayValue, Call
from rockiln_kernels.dispatch.abi import DTYPE_CODES, DTYPE_NAMES, ArrayStruct, CallStruct
from rockiln_kernels.launcher import ValueStruct, make_value
from rockiln_kernels.selection.call_text import format_call
from rockiln_kernels.spec import OpSpec
from rockiln_torch import native
from rockiln_torch.calls import BoundCall
from rockiln_torch.compose import check_outputs, compose_call
from rockiln_torch.dtypes import name_dtype
from rockiln_torch.forms import read_forms
from rockiln_torch.observe import ObservedCall, note_call
from rockiln_torch.op_table import OPS
from rockiln_torch.stated import state_call

_KINDS = {"f32": "f32", "i32": "i64", "bool": "i32"}
"""Kind of a scalar → as native code states it."""


def judge_call(call: BoundCall) -> str:
    """Why no kernel for CPUs runs a call; "" if one does, as far as can be told without data."""
    spec = call.form.spec
    names = [name_dtype(tensor.dtype) for tensor in call.tensors if tensor is not None]
    if unknown := [name for name in names if name not in DTYPE_CODES]:
        return f"kernels do not take {unknown[0]}"
    arrays = [ArrayStruct() if tensor is None else _state_tensor(tensor) for tensor in call.tensors]
    scalars = [make_value(_KINDS[scalar.kind], call.scalars[scalar.name]) for scalar in spec.scalars]
    dtypes = [DTYPE_CODES[dtype] for dtype in call.axes.values()]
    stated = CallStruct(
        struct_bytes=ctypes.sizeof(CallStruct),
        inputs=(ArrayStruct * len(arrays))(*arrays),
        scalars=(ValueStruct * len(scalars))(*scalars),
        dtypes=(c_uint32 * len(dtypes))(*dtypes),
        input_count=len(arrays),
        scalar_count=len(scalars),
        dtype_count=len(dtypes),
    )
    return native.judge_cpu(OPS.index(spec.name), ctypes.addressof(stated))


def _state_tensor(tensor: torch.Tensor) -> ArrayStruct:
    rank = tensor.dim()
    return ArrayStruct(
        shape=(c_int64 * rank)(*tensor.shape),
        strides=(c_int64 * rank)(*tensor.stride()),
        rank=rank,
        dtype=DTYPE_CODES[name_dtype(tensor.dtype)],
    )


def describe_call(call: BoundCall) -> str:
    """The call in words; alignments do not matter on a CPU."""
    return format_call(state_call(call, is_aligned=True))


def run_copied(call: BoundCall) -> tuple[torch.Tensor, ...]:
    """The outputs of a call that a kernel for CPUs runs of contiguous copies; () of an out-variant, which is written.

    Raises as the op does.
    """
    if call.outputs:
        check_outputs(call)
    words = dict(call.scalars) | ({"out_dtype": call.out_dtype} if call.form.dtype_axis else {})
    tensors = [None if tensor is None else tensor.contiguous() for tensor in call.tensors]
    if not call.outputs and all(one is other for one, other in zip(tensors, call.tensors, strict=True)):
        return compose_call(call)  # what torch calls contiguous, and the kernel does not: never asked again and again
    with torch.no_grad():
        found = getattr(torch.ops.rockiln, call.form.spec.name)(*tensors, **words)
        outputs = found if isinstance(found, tuple) else (found,)
        for output, value in zip(call.outputs, outputs, strict=False):
            output.copy_(value)
    return () if call.outputs else outputs


def name_kernel(op: str) -> str:
    """As profiles and explain call it."""
    return f"cpu.{op}.{native.choose_cpu_level()}"


def explain_reason() -> str:
    """Why a kernel for CPUs runs."""
    return f"rockiln's kernel for CPUs, {native.choose_cpu_level()}"


@contextmanager
def observe_cpu() -> Iterator[None]:
    """Within the block observers are told of calls that kernels for CPUs run."""
    native.observe_cpu(_observer)
    try:
        yield
    finally:
        native.observe_cpu(None)


def _pass_on(row: int, address: int) -> None:
    spec = read_forms()[OPS[row]].spec
    stated = CallStruct.from_address(address)
    note_call(
        ObservedCall(
            op=spec.name,
            provider="cpu",
            kernel=name_kernel(spec.name),
            reason=explain_reason(),
            call=format_call(_read_call(spec, stated)),
        )
    )


def _read_call(spec: OpSpec, stated: CallStruct) -> Call:
    arrays = {
        array.name: ArrayValue(
            shape=tuple(given.shape[: given.rank]),
            strides=tuple(given.strides[: given.rank]),
            dtype=DTYPE_NAMES[given.dtype],
        )
        for array, given in zip(spec.inputs, stated.inputs[: stated.input_count], strict=False)
        if given.dtype
    }
    scalars = {
        scalar.name: _read_scalar(scalar.kind, given)
        for scalar, given in zip(spec.scalars, stated.scalars[: stated.scalar_count], strict=False)
    }
    shown = {array.dtype for array in spec.inputs}
    open_axes = [axis for axis, _ in spec.dtype_axes if axis not in shown]
    dtypes = {
        axis: DTYPE_NAMES[code] for axis, code in zip(open_axes, stated.dtypes[: stated.dtype_count], strict=False)
    }
    return Call(op=spec.name, arrays=arrays, scalars=scalars, dtypes=dtypes)


def _read_scalar(kind: str, given: ValueStruct) -> Any:
    if kind == "f32":
        return given.as_.number
    return bool(given.as_.integer) if kind == "bool" else given.as_.integer


_observer = native.CallObserver(_pass_on)
