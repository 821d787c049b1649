"""librockiln_torch.so by ctypes → the ops' definitions and native code in this process. native/library.h says how."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from functools import lru_cache
from pathlib import Path
from typing import Any

NAME = "librockiln_torch.so"
CallObserver = CFUNCTYPE(None, c_uint32, c_void_p)
"""The op's place and the address of a rockiln_op_call."""
ComposeFunction = CFUNCTYPE(c_int32, c_uint32, c_uint32, c_uint32, c_char_p, POINTER(c_uint64), POINTER(c_uint64))
FindFunction = CFUNCTYPE(c_uint64)


class NativeError(RuntimeError):
    """The library is missing, or torch refused what it registers; the message says what to do."""


def find_library() -> Path:
    """In the wheel beside this file, in a checkout in build/. Raises NativeError if it is in neither."""
    here = Path(__file__).resolve()
    places = (here.with_name(NAME), here.parents[2] / "build" / NAME)
    for place in places:
        if place.is_file():
            return place
    where = f"{places[0].parent} nor in {places[1].parent}"
    raise NativeError(f"{NAME} is neither in {where}; hint: install rockiln-torch again")


@lru_cache(maxsize=1)
def open_library() -> ctypes.CDLL:
    """The library with its functions declared. Nothing is registered by that. Raises NativeError."""
    try:
        library = ctypes.CDLL(str(find_library()))
    except OSError as error:
        raise NativeError(f"{NAME} cannot be loaded: {error}") from error
    library.rockiln_torch_define.argtypes = [ComposeFunction, FindFunction]
    for name in ("define", "serve", "op_name", "judge_cpu", "cpu_level"):
        getattr(library, f"rockiln_torch_{name}").restype = c_char_p
    library.rockiln_torch_serve.argtypes = library.rockiln_torch_withdraw.argtypes = [c_char_p]
    library.rockiln_torch_trace.argtypes = [c_void_p, c_void_p]
    library.rockiln_torch_judge_cpu.argtypes = [c_uint32, c_void_p]
    library.rockiln_torch_attend.argtypes = [c_void_p]
    library.rockiln_torch_is_finite.argtypes = [c_void_p, c_int64, c_uint32]
    library.rockiln_torch_prefers_blas.argtypes = [c_int64, c_int64, c_int64]
    library.rockiln_torch_observe_cpu.argtypes = [CallObserver]
    library.rockiln_torch_cpu_level.argtypes = [c_char_p]
    library.rockiln_torch_observe_cpu.restype = None
    library.rockiln_torch_withdraw.restype = library.rockiln_torch_trace.restype = None
    library.rockiln_torch_forget_dispatch.restype = None
    for name in ("count_ops", "name_dtype", "prefers_blas", "attend", "has_attention", "is_finite"):
        getattr(library, f"rockiln_torch_{name}").restype = c_uint32
    return library


_callbacks: list[object] = []
"""Keeps the two functions alive for as long as the process: the library holds their addresses."""


def define_ops(compose: Callable[..., int], find_dispatch: Callable[[], int]) -> None:
    """Define torch.ops.rockiln.*. Raises NativeError if this torch is too old, or if they are defined already."""
    callbacks = (ComposeFunction(compose), FindFunction(find_dispatch))
    _callbacks.extend(callbacks)
    _raise_failure(open_library().rockiln_torch_define(*callbacks))


def serve_key(key: str) -> None:
    """Register native code for "CUDA" or "CPU"; library.h says what "host" is. Raises NativeError."""
    _raise_failure(open_library().rockiln_torch_serve(key.encode()))


def withdraw_key(key: str) -> None:
    """Take them back; "" takes the definitions back."""
    open_library().rockiln_torch_withdraw(key.encode())


def forget_dispatch() -> None:
    """Let the next GPU call look for librockiln's dispatcher anew."""
    open_library().rockiln_torch_forget_dispatch()


def judge_cpu(row: int, call: int) -> str:
    """Why no kernel for CPUs runs the call of an op at that address, a rockiln_op_call; "" if one does."""
    return (open_library().rockiln_torch_judge_cpu(row, call) or b"").decode()


def is_finite(address: int, count: int, dtype: int) -> bool:
    """Whether `count` numbers at an address are finite; dtype: the code of f32, f16 or bf16."""
    return bool(open_library().rockiln_torch_is_finite(address, count, dtype))


@lru_cache(maxsize=1024)
def prefers_blas(m: int, n: int, k: int) -> bool:
    """Whether torch's own linear multiplies f32 [m, k] and [n, k] on this CPU sooner than oneDNN does."""
    return bool(open_library().rockiln_torch_prefers_blas(m, n, k))


def observe_cpu(observer: Any) -> None:
    """Have a CallObserver, which lives as long as the process, told of every call that a kernel for CPUs runs.

    It gets the op's place and the address of a rockiln_op_call. None ends it.
    """
    open_library().rockiln_torch_observe_cpu(observer or CallObserver())


def choose_cpu_level(level: str | None = None) -> str:
    """The instructions that the kernels for CPUs use, from now on those of `level`, "" being the best there are.

    Raises NativeError if this CPU lacks some of them.
    """
    found: bytes | None = open_library().rockiln_torch_cpu_level(None if level is None else level.encode())
    if found is None:
        raise NativeError(f"this CPU has not all of {level}")
    return found.decode()


def trace_calls(push: Any, pop: Any) -> None:
    """Two C functions, push(name) and pop(), around every native call; None for both ends it."""
    addresses = (ctypes.cast(function, c_void_p) if function else None for function in (push, pop))
    open_library().rockiln_torch_trace(*addresses)


def _raise_failure(message: bytes | None) -> None:
    if message is not None:
        raise NativeError(message.decode())
