"""rockiln_dispatch.h by ctypes → structures, and librockiln with the functions declared."""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int32, c_int64, c_uint32, c_uint64, c_void_p

from rockiln_kernels.launcher import LaunchError, Status, ValueStruct

ABI_VERSION = 1
DTYPE_CODES = {
    "f32": 1, "f16": 2, "bf16": 3, "e4m3": 4, "e5m2": 5, "e4m3fnuz": 6, "e5m2fnuz": 7, "u8": 8, "i32": 9, "i64": 10,
    "e2m3": 11, "e3m2": 12,
}  # fmt: skip
"""rockiln_dtype of a name in rockiln_kernels.dtypes."""
DTYPE_NAMES = {code: name for name, code in DTYPE_CODES.items()}
PROVIDER_CODES = {"pack": 1, "aiter": 2, "framework": 3}
PROVIDER_NAMES = {code: name for name, code in PROVIDER_CODES.items()}
SOURCE_CODES = {"constant": 0, "input": 1, "output": 2, "workspace": 3}
STRICT = 1


class ArrayStruct(ctypes.Structure):
    """rockiln_array."""

    _fields_ = (
        ("data", c_void_p),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("rank", c_uint32),
        ("dtype", c_uint32),
    )


class CallStruct(ctypes.Structure):
    """rockiln_op_call."""

    _fields_ = (
        ("struct_bytes", c_uint32),
        ("device", c_int32),
        ("op", c_void_p),
        ("inputs", POINTER(ArrayStruct)),
        ("scalars", POINTER(ValueStruct)),
        ("dtypes", POINTER(c_uint32)),
        ("input_count", c_uint32),
        ("scalar_count", c_uint32),
        ("dtype_count", c_uint32),
        ("flags", c_uint32),
    )


class OutputStruct(ctypes.Structure):
    """rockiln_output."""

    _fields_ = (("name", c_char_p), ("shape", POINTER(c_int64)), ("rank", c_uint32), ("dtype", c_uint32))


class FactsStruct(ctypes.Structure):
    """rockiln_plan_facts."""

    _fields_ = (
        ("struct_bytes", c_uint32),
        ("provider", c_uint32),
        *((name, c_char_p) for name in ("op", "arch", "kernel", "reason", "rejected", "call")),
        ("outputs", POINTER(OutputStruct)),
        ("workspace_bytes", c_uint64),
        ("output_count", c_uint32),
        ("launch_count", c_uint32),
        ("device", c_int32),
        ("reserved", c_uint32),
    )


class RunStruct(ctypes.Structure):
    """rockiln_plan_run."""

    _fields_ = (
        ("struct_bytes", c_uint32),
        ("input_count", c_uint32),
        ("output_count", c_uint32),
        ("reserved", c_uint32),
        ("inputs", POINTER(c_void_p)),
        ("outputs", POINTER(c_void_p)),
        ("workspace", c_void_p),
        ("stream", c_void_p),
    )


COUNTS = ("hits", "misses", "evictions", "plans")


class CountsStruct(ctypes.Structure):
    """rockiln_dispatch_counts."""

    _fields_ = tuple((name, c_uint64) for name in COUNTS)


class QuestionStruct(ctypes.Structure):
    """rockiln_question."""

    _fields_ = (
        ("op", c_char_p),
        ("arch", c_char_p),
        ("call", POINTER(CallStruct)),
        ("alignments", POINTER(c_uint32)),
    )


class PlannedValueStruct(ctypes.Structure):
    """rockiln_planned_value."""

    _fields_ = (("value", ValueStruct), ("source", c_uint32), ("reserved", c_uint32), ("place", c_uint64))


class LaunchStruct(ctypes.Structure):
    """rockiln_planned_launch."""

    _fields_ = (
        ("key", c_char_p),
        ("values", POINTER(PlannedValueStruct)),
        ("value_count", c_uint32),
        ("grid", c_uint32 * 3),
    )


class AnswerStruct(ctypes.Structure):
    """rockiln_answer."""

    _fields_ = (
        ("struct_bytes", c_uint32),
        ("provider", c_uint32),
        *((name, c_char_p) for name in ("kernel", "reason", "rejected", "call", "pack")),
        ("outputs", POINTER(OutputStruct)),
        ("launches", POINTER(LaunchStruct)),
        ("workspace_bytes", c_uint64),
        ("output_count", c_uint32),
        ("launch_count", c_uint32),
    )


PlanMaker = CFUNCTYPE(None, c_void_p, c_void_p)
Observer = CFUNCTYPE(None, c_void_p, c_void_p)


class PlannerStruct(ctypes.Structure):
    """rockiln_planner."""

    _fields_ = (
        ("struct_bytes", c_uint32),
        ("backend", c_uint32),
        ("library", c_char_p),
        ("make_plan", PlanMaker),
        ("user", c_void_p),
        ("capacity", c_uint32),
        ("reserved", c_uint32),
    )


class LayoutError(ValueError):
    """Strides that an op does not take; with contiguous copies of its inputs the call may fit."""


def make_error(status: int, message: str) -> Exception | None:
    """The exception that the header asks for; None for a status that is no matter of dispatch."""
    kinds: dict[int, type[Exception]] = {
        Status.UNKNOWN_OP: NotImplementedError,
        Status.CALL_TYPE: TypeError,
        Status.CALL_VALUE: ValueError,
        Status.CALL_LAYOUT: LayoutError,
        Status.NOT_SELECTED: RuntimeError,
    }
    return kinds[status](message) if status in kinds else None


def check(library: ctypes.CDLL, status: int) -> None:
    """Raise what a status asks for, with the library's message, unless it is 0."""
    if status:
        message = library.rockiln_last_error().decode(errors="replace")
        raise make_error(status, message) or LaunchError(Status(status), message)


def declare_functions(library: ctypes.CDLL) -> None:
    """Types of the arguments and results of the header's functions."""
    pointer = POINTER(c_void_p)
    library.rockiln_find_op.argtypes = [c_char_p, pointer]
    library.rockiln_find_plan.argtypes = [POINTER(CallStruct), pointer]
    library.rockiln_release_plan.argtypes = [c_void_p]
    library.rockiln_release_plan.restype = None
    library.rockiln_describe_plan.argtypes = [c_void_p]
    library.rockiln_describe_plan.restype = POINTER(FactsStruct)
    library.rockiln_run_plan.argtypes = [c_void_p, POINTER(RunStruct)]
    library.rockiln_preload_plan.argtypes = [c_void_p]
    library.rockiln_count_dispatches.argtypes = [POINTER(CountsStruct)]
    library.rockiln_list_plans.argtypes = [pointer, c_uint32, POINTER(c_uint32)]
    library.rockiln_plan_hits.argtypes = [c_void_p]
    library.rockiln_plan_hits.restype = c_uint64
    library.rockiln_clear_plans.restype = None
    library.rockiln_observe_plans.argtypes = [c_void_p, c_void_p]
    library.rockiln_observe_plans.restype = None
    library.rockiln_read_request.argtypes = [c_void_p, POINTER(QuestionStruct)]
    library.rockiln_read_request.restype = None
    library.rockiln_answer_request.argtypes = [c_void_p, POINTER(AnswerStruct)]
    library.rockiln_refuse_request.argtypes = [c_void_p, c_int32, c_char_p]
    library.rockiln_refuse_request.restype = None
    library.rockiln_install_planner.argtypes = [POINTER(PlannerStruct)]
    library.rockiln_dispatch_functions.restype = c_void_p
