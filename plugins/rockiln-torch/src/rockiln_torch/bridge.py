"""A call that native code hands over → the framework's composition, its outputs handed back. native/library.h."""

from __future__ import annotations

import ctypes
import struct
from ctypes import c_char_p, c_void_p, py_object
from typing import Any

import torch

from rockiln_torch.calls import BoundCall
from rockiln_torch.compose import LOG, compose_call, write_outputs
from rockiln_torch.cpu import run_copied
from rockiln_torch.dtypes import TORCH_DTYPES
from rockiln_torch.forms import OpForm, read_forms
from rockiln_torch.kept_error import forget_error, keep_error
from rockiln_torch.native import open_library
from rockiln_torch.op_table import OPS

CAUSES = ("", "", "its kernels are not loaded, and a graph is being captured", "the outputs cannot be written directly")
"""Reason by rockiln_torch_cause, where the text says none."""
PLANNED, CAPTURING, LAYOUT = 0, 2, 4
_DTYPES = (None, *TORCH_DTYPES.values())
"""By rockiln_dtype."""

_make_capsule = ctypes.pythonapi.PyCapsule_New
_make_capsule.restype, _make_capsule.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
_read_capsule = ctypes.pythonapi.PyCapsule_GetPointer
_read_capsule.restype, _read_capsule.argtypes = c_void_p, [py_object, c_char_p]


def compose_native(row: int, is_out: int, cause: int, text: bytes | None, values: Any, results: Any) -> int:
    """rockiln_torch_compose; an exception is kept for native code."""
    forget_error()
    try:
        form = read_forms()[OPS[row]]
        call = _read_call(form, values, is_out=bool(is_out))
        reason = (text or b"").decode() or CAUSES[cause]
        if cause == CAPTURING:
            LOG.warning("rockiln::%s: %s: torch's ops run it; call it once before", form.spec.name, reason)
        asks_aiter = cause == PLANNED
        if cause == LAYOUT:
            for place, output in enumerate(run_copied(call)):
                results[place] = _release_tensor(output)
            return 0
        if is_out:
            write_outputs(call, reason, asks_aiter=asks_aiter)
            return 0
        for place, output in enumerate(compose_call(call, reason, asks_aiter=asks_aiter)):
            results[place] = _release_tensor(output)
    except BaseException as error:  # noqa: BLE001  # it is raised again behind the native frame
        return keep_error(error, results)
    return 0


def find_dispatch() -> int:
    """rockiln_torch_find_dispatch: install the planner, and give the address of its functions; 0 if there is none.

    In a torch for CUDA there are kernels only where somebody has installed a planner for them.
    """
    try:
        from rockiln_kernels import dispatch
        from rockiln_kernels.dispatch.dispatcher import _State

        if _State.current is None and torch.version.hip is None:
            return 0
        dispatch.install()
        return int(dispatch.read_api_address())
    except Exception as error:  # noqa: BLE001  # a missing launcher is no reason to stop a model
        LOG.warning("no kernels: %s", error)
        return 0


def _read_call(form: OpForm, values: Any, *, is_out: bool) -> BoundCall:
    place, spec = 0, form.spec
    tensors = [_take_tensor(values[place]) for place in range(len(spec.inputs))]
    place = len(tensors)
    scalars: dict[str, Any] = {}
    for scalar in spec.scalars:
        scalars[scalar.name] = _read_scalar(scalar.kind, values[place])
        place += 1
    out_dtype, fp6_format = None, 0
    if form.dtype_axis:
        out_dtype = _DTYPES[open_library().rockiln_torch_name_dtype(values[place] & 0xFFFFFFFF)]
        place += 1
    if form.format_axis:
        fp6_format = _read_scalar("i32", values[place])
        place += 1
    outputs = tuple(_take_tensor(values[place + index]) for index in range(len(spec.outputs) if is_out else 0))
    return BoundCall(
        form=form,
        tensors=tuple(tensors),
        scalars=scalars,
        out_dtype=out_dtype,
        fp6_format=fp6_format,
        outputs=tuple(output for output in outputs if output is not None),
    )


def _read_scalar(kind: str, bits: int) -> Any:
    if kind == "f32":
        return struct.unpack("<d", struct.pack("<Q", bits))[0]
    return bool(bits & 0xFF) if kind == "bool" else struct.unpack("<q", struct.pack("<Q", bits))[0]


def _take_tensor(handle: int) -> torch.Tensor | None:
    if not handle:
        return None
    capsule = _make_capsule(handle, None, None)
    tensor: torch.Tensor = torch._C._aoti.alloc_tensor_by_stealing_from_void_ptr(capsule)  # noqa: SLF001
    return tensor


def _release_tensor(tensor: torch.Tensor) -> int:
    capsule = torch._C._aoti.unsafe_alloc_void_ptr_from_tensor(tensor)  # noqa: SLF001
    return int(_read_capsule(capsule, None))
