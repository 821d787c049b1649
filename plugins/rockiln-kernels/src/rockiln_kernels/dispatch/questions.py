"""A request of librockiln → Call, and a Plan → the answer that librockiln copies."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_int64
from typing import Any

from rockiln_kernels.call import ArrayValue, Call
from rockiln_kernels.dispatch.abi import (
    DTYPE_CODES,
    DTYPE_NAMES,
    PROVIDER_CODES,
    SOURCE_CODES,
    STRICT,
    AnswerStruct,
    ArrayStruct,
    CallStruct,
    LaunchStruct,
    OutputStruct,
    PlannedValueStruct,
    QuestionStruct,
)
from rockiln_kernels.dispatch.planner import CallError, Plan, PlannedLaunch, PlannedValue, find_spec
from rockiln_kernels.expressions import Value
from rockiln_kernels.launcher import ValueStruct, make_value
from rockiln_kernels.outputs import OutputValue
from rockiln_kernels.spec import OpSpec, ScalarSpec


def read_question(library: ctypes.CDLL, request: int) -> tuple[Call, str, bool]:
    """What is asked: the call, the arch, and whether it is asked strictly. Raises CallError."""
    question = QuestionStruct()
    library.rockiln_read_request(request, byref(question))
    asked: CallStruct = question.call.contents
    spec = find_spec(question.op.decode())
    call = Call(
        op=spec.name,
        arrays=_read_arrays(spec, asked, question.alignments),
        scalars=_read_scalars(spec, asked),
        dtypes=_read_dtypes(spec, asked),
    )
    return call, question.arch.decode(), bool(asked.flags & STRICT)


def _read_arrays(spec: OpSpec, asked: CallStruct, alignments: Any) -> dict[str, ArrayValue]:
    if asked.input_count > len(spec.inputs):
        raise CallError(f"{spec.name}: {asked.input_count} inputs, it takes {len(spec.inputs)}", "type")
    arrays = {}
    for place in range(asked.input_count):
        array: ArrayStruct = asked.inputs[place]
        if array.dtype:
            arrays[spec.inputs[place].name] = ArrayValue(
                shape=tuple(array.shape[: array.rank]),
                strides=tuple(array.strides[: array.rank]),
                dtype=_name_dtype(spec, array.dtype),
                alignment=alignments[place],
            )
    return arrays


def _read_scalars(spec: OpSpec, asked: CallStruct) -> dict[str, Value]:
    if asked.scalar_count > len(spec.scalars):
        raise CallError(f"{spec.name}: {asked.scalar_count} scalars, it takes {len(spec.scalars)}", "type")
    given = zip(spec.scalars, asked.scalars[: asked.scalar_count], strict=False)
    return {scalar.name: _read_scalar(spec, scalar, value) for scalar, value in given if value.kind}


def _read_scalar(spec: OpSpec, scalar: ScalarSpec, value: ValueStruct) -> Value:
    is_float = value.kind == 4
    if is_float != (scalar.kind == "f32"):
        raise CallError(
            f"{spec.name}: {scalar.name} is {'f32' if is_float else 'an integer'}, not {scalar.kind}", "type"
        )
    if is_float:
        return float(value.as_.number)
    number = int(value.as_.integer)
    return bool(number) if scalar.kind == "bool" else number


def _read_dtypes(spec: OpSpec, asked: CallStruct) -> dict[str, str]:
    bound = {array.dtype for array in spec.inputs}
    axes = [axis for axis, _ in spec.dtype_axes if axis not in bound]
    if asked.dtype_count != len(axes):
        raise CallError(f"{spec.name}: {asked.dtype_count} dtypes, it takes {len(axes)}: {', '.join(axes)}", "type")
    return {axis: _name_dtype(spec, asked.dtypes[place]) for place, axis in enumerate(axes)}


def _name_dtype(spec: OpSpec, code: int) -> str:
    if code not in DTYPE_NAMES:
        raise CallError(f"{spec.name}: there is no dtype of number {code}", "type")
    return DTYPE_NAMES[code]


def make_answer(plan: Plan) -> AnswerStruct:
    """The structure, which keeps alive all that it points to."""
    rejected = "\n".join(f"{item.candidate}: {item.reason}" for item in plan.rejected)
    return AnswerStruct(
        struct_bytes=ctypes.sizeof(AnswerStruct),
        provider=PROVIDER_CODES[plan.provider],
        kernel=(plan.kernel or "").encode(),
        reason=plan.reason.encode(),
        rejected=rejected.encode(),
        call=plan.call.encode(),
        pack=os.fsencode(plan.pack) if plan.pack else None,
        outputs=(OutputStruct * len(plan.outputs))(*map(_make_output, plan.outputs)),
        launches=(LaunchStruct * len(plan.launches))(*map(_make_launch, plan.launches)),
        workspace_bytes=plan.workspace_bytes,
        output_count=len(plan.outputs),
        launch_count=len(plan.launches),
    )


def _make_output(output: OutputValue) -> OutputStruct:
    rank = len(output.shape)
    shape = (c_int64 * rank)(*output.shape)
    return OutputStruct(name=output.name.encode(), shape=shape, rank=rank, dtype=DTYPE_CODES[output.dtype])


def _make_launch(launch: PlannedLaunch) -> LaunchStruct:
    values = (PlannedValueStruct * len(launch.values))(*map(_make_planned, launch.values))
    return LaunchStruct(key=launch.key.encode(), values=values, value_count=len(launch.values), grid=launch.grid)


def _make_planned(value: PlannedValue) -> PlannedValueStruct:
    return PlannedValueStruct(
        value=make_value(value.kind, value.number), source=SOURCE_CODES[value.source], place=value.place
    )
