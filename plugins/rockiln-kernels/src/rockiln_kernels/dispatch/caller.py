"""A call with addresses → HeldPlan: what it comes to, and its launches on a stream. By ctypes, for Python's callers."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from ctypes import byref, c_int64, c_uint32, c_void_p
from dataclasses import dataclass

from rockiln_kernels.dispatch.abi import (
    DTYPE_CODES,
    DTYPE_NAMES,
    PROVIDER_NAMES,
    STRICT,
    ArrayStruct,
    CallStruct,
    FactsStruct,
    RunStruct,
    check,
)
from rockiln_kernels.expressions import Value
from rockiln_kernels.launcher import ValueStruct, make_value
from rockiln_kernels.outputs import OutputValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An input in device memory. Strides in elements; None: contiguous."""

    address: int
    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
    """rockiln_plan_facts."""

    op: str
    arch: str
    provider: str
    kernel: str
    reason: str
    rejected: tuple[str, ...]
    call: str
    outputs: tuple[OutputValue, ...]
    workspace_bytes: int
    launches: int
    device: int


class HeldPlan:
    """A plan of librockiln, released with this object."""

    def __init__(self, library: ctypes.CDLL, handle: c_void_p) -> None:
        self.library, self.handle = library, handle
        weakref.finalize(self, library.rockiln_release_plan, handle)
        self.facts = read_facts(library.rockiln_describe_plan(handle).contents)

    @property
    def hits(self) -> int:
        """How often it was found in the cache."""
        return int(self.library.rockiln_plan_hits(self.handle))

    def preload(self) -> None:
        """Load its kernels, so that it can be run while a graph is captured. Raises LaunchError."""
        check(self.library, self.library.rockiln_preload_plan(self.handle))

    def run(self, inputs: Sequence[int], outputs: Sequence[int], *, workspace: int = 0, stream: int = 0) -> None:
        """Launch its kernels in order. Addresses: 0 for an absent input. Raises LaunchError."""
        run = RunStruct(
            struct_bytes=ctypes.sizeof(RunStruct),
            input_count=len(inputs),
            output_count=len(outputs),
            inputs=(c_void_p * len(inputs))(*inputs),
            outputs=(c_void_p * len(outputs))(*outputs),
            workspace=workspace or None,
            stream=stream or None,
        )
        check(self.library, self.library.rockiln_run_plan(self.handle, byref(run)))


def find_plan(
    library: ctypes.CDLL,
    op: str,
    inputs: Sequence[Argument | None],
    *,
    scalars: Sequence[tuple[str, Value] | None] = (),
    dtypes: Sequence[str] = (),
    device: int = 0,
    strict: bool = False,
) -> HeldPlan:
    """The plan of a call. `inputs` and `scalars` (kind "f32", "i32" or "i64", and value) in the OpSpec's order.

    Raises TypeError, ValueError (LayoutError for strides) or NotImplementedError for what is no call of the op,
    RuntimeError in strict mode, LaunchError else.
    """
    name = c_void_p()
    check(library, library.rockiln_find_op(op.encode(), byref(name)))
    call = CallStruct(
        struct_bytes=ctypes.sizeof(CallStruct),
        device=device,
        op=name,
        inputs=(ArrayStruct * len(inputs))(*map(_make_array, inputs)),
        scalars=(ValueStruct * len(scalars))(*map(_make_scalar, scalars)),
        dtypes=(c_uint32 * len(dtypes))(*(DTYPE_CODES[dtype] for dtype in dtypes)),
        input_count=len(inputs),
        scalar_count=len(scalars),
        dtype_count=len(dtypes),
        flags=STRICT if strict else 0,
    )
    handle = c_void_p()
    check(library, library.rockiln_find_plan(byref(call), byref(handle)))
    return HeldPlan(library, handle)


def read_facts(facts: FactsStruct) -> PlanFacts:
    """The structure as a value."""
    outputs = tuple(
        OutputValue(
            name=item.name.decode(), shape=tuple(item.shape[: item.rank]), dtype=DTYPE_NAMES.get(item.dtype, "")
        )
        for item in facts.outputs[: facts.output_count]
    )
    return PlanFacts(
        op=facts.op.decode(),
        arch=facts.arch.decode(),
        provider=PROVIDER_NAMES[facts.provider],
        kernel=facts.kernel.decode(),
        reason=facts.reason.decode(errors="replace"),
        rejected=tuple(facts.rejected.decode(errors="replace").splitlines()),
        call=facts.call.decode(errors="replace"),
        outputs=outputs,
        workspace_bytes=facts.workspace_bytes,
        launches=facts.launch_count,
        device=facts.device,
    )


def _make_array(argument: Argument | None) -> ArrayStruct:
    if argument is None:
        return ArrayStruct()
    rank = len(argument.shape)
    return ArrayStruct(
        data=argument.address or None,
        shape=(c_int64 * rank)(*argument.shape),
        strides=None if argument.strides is None else (c_int64 * rank)(*argument.strides),
        rank=rank,
        dtype=DTYPE_CODES[argument.dtype],
    )


def _make_scalar(scalar: tuple[str, Value] | None) -> ValueStruct:
    return ValueStruct() if scalar is None else make_value(*scalar)
