"""libamdhip64 by ctypes → a Hip whose attributes are its functions: a failing one raises an exception."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hipcompat.errors import FileError
from hipcompat.runtime.hip.faults import (
    KERNEL_FAULTS,
    NO_DEVICE,
    NOT_INITIALIZED,
    NOT_READY,
    Argument,
    HipError,
    KernelFaultError,
    Launch,
    PendingError,
)
from hipcompat.runtime.hip.memory import Memory
from hipcompat.runtime.hip.signatures import ALLOCATORS, POINTERS, RELEASERS, name_arguments

_NAMES = ("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so")
_ASKS = frozenset(
    {"hipGetErrorName", "hipGetErrorString", "hipGetLastError", "hipPeekAtLastError", "hipExtGetLastError"}
)
_KEPT_LAUNCHES = 256
_TO_HOST = 2
"""hipMemcpyDeviceToHost: the one kind after which the null stream's kernels have surely ended."""
_HERE = str(Path(__file__).parent)


def open_hip(path: str | os.PathLike[str] = "") -> Hip:
    """Load the HIP runtime, by name or from a path. FileError where there is none. No GPU is needed for that."""
    faults = []
    for name in (os.fspath(path),) if path else _NAMES:
        try:
            return Hip(ctypes.CDLL(name))
        except OSError as fault:
            faults.append(str(fault))
    raise FileError(f"no HIP runtime: {faults[0]}", hint="hipcompat doctor says which copies there are")


class Hip:
    """Not for many threads at once: HIP keeps its last error for each thread, and so must who reports it."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._memory = Memory()
        self._launches: list[Launch] = []
        self._kernels: dict[int, str] = {}
        self._last = ""
        self._fault: KernelFaultError | None = None
        for name in ("hipGetErrorName", "hipGetErrorString"):
            getattr(library, name).restype = ctypes.c_char_p

    def __getattr__(self, name: str) -> Callable[..., int]:
        """A function of the library: takes ctypes values, ints for pointers; returns 0 or 600 (not ready), else raises.

        Those that ask for errors return them, as they are.
        """
        if name.startswith("_"):
            raise AttributeError(name)
        function = getattr(self._library, name)  # AttributeError where HIP has none
        return function if name in _ASKS else lambda *args: self._call(name, function, args)

    def load_kernel(self, code: bytes, symbol: str) -> int:
        """A kernel of a code object, for launch(). HipError where it is for another arch, or has no such kernel."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.hipModuleLoadData(ctypes.byref(module), ctypes.c_char_p(code))
        self.hipModuleGetFunction(ctypes.byref(function), module, ctypes.c_char_p(symbol.encode()))
        handle = function.value or 0
        self._kernels[handle] = symbol
        return handle

    def launch(
        self, kernel: int, grid: Sequence[int], block: Sequence[int], arguments: Mapping[str, ctypes._SimpleCData[int]],
        *, stream: int = 0, shared_bytes: int = 0,
    ) -> None:  # fmt: skip
        """Start a kernel. `arguments`: name → ctypes value, in order; c_void_p for pointers. Faults come later."""
        values = list(arguments.values())
        pointers = (ctypes.c_void_p * max(len(values), 1))(*(ctypes.addressof(value) for value in values))
        launch = Launch(
            kernel=self._kernels.get(kernel, hex(kernel)), grid=_make_three(grid), block=_make_three(block),
            stream=stream, arguments=tuple(self._describe(name, value) for name, value in arguments.items()),
            where=_find_caller(),
        )  # fmt: skip
        sizes = [ctypes.c_uint(size) for size in (*launch.grid, *launch.block, shared_bytes)]
        function = self._library.hipModuleLaunchKernel
        self._launches = [*self._launches[-_KEPT_LAUNCHES:], launch]
        parts = (ctypes.c_void_p(kernel), *sizes, ctypes.c_void_p(stream), pointers, None)
        self._call("hipModuleLaunchKernel", function, parts)

    def _call(self, name: str, function: Callable[..., int], args: tuple[object, ...]) -> int:
        self._raise_pending(name)
        where = _find_caller()
        code = function(*(_widen(value) for value in args))
        if code in {0, NOT_READY}:
            self._note(name, args, code, where)
            self._last = f"{name} at {where}"
            return code
        self._library.hipGetLastError()  # told once: here
        error = self._make_error(name, code, args)
        self._last = f"{name} at {where}"
        if isinstance(error, KernelFaultError) and self._fault is None:
            self._fault = error
            raise error
        raise error from self._fault

    def _raise_pending(self, name: str) -> None:
        code = self._library.hipPeekAtLastError()
        if code in {0, NOT_READY, NO_DEVICE, NOT_INITIALIZED}:  # the latter two are the machine's state, and stay
            return
        self._library.hipGetLastError()
        if code in KERNEL_FAULTS:
            raise self._make_error(name, code, ()) from self._fault
        raise PendingError(name, code, *self._say(code), self._last)

    def _make_error(self, name: str, code: int, args: tuple[object, ...]) -> HipError:
        arguments = self._describe_call(name, args)
        if code not in KERNEL_FAULTS:
            return HipError(name, code, *self._say(code), arguments)
        likely = sorted(self._launches, key=lambda launch: not any(one.note for one in launch.arguments))
        return KernelFaultError(name, code, *self._say(code), arguments, tuple(likely))

    def _say(self, code: int) -> tuple[str, str]:
        name, text = self._library.hipGetErrorName(code), self._library.hipGetErrorString(code)
        return (name or b"hipError").decode(), (text or b"").decode()

    def _describe_call(self, name: str, args: tuple[object, ...]) -> tuple[Argument, ...]:
        names = name_arguments(name, len(args))
        size = next((_read_int(value) for key, value in zip(names, args, strict=True) if key == "sizeBytes"), 0)
        described = []
        for key, value in zip(names, args, strict=True):
            is_pointer = key in POINTERS and not (name in ALLOCATORS or hasattr(value, "_obj"))
            described.append(self._describe(key, value, is_pointer=is_pointer, needed=size or 0))
        return tuple(described)

    def _describe(self, name: str, value: object, *, is_pointer: bool = False, needed: int = 0) -> Argument:
        number = _read_int(value)
        if number is None:
            return Argument(name=name, text="None" if value is None else f"<{type(value).__name__}>")
        if is_pointer or isinstance(value, ctypes.c_void_p):
            return Argument(name=name, text=hex(number), note=self._memory.describe(number, needed) if is_pointer or
                            number else "it is null")  # fmt: skip
        return Argument(name=name, text=str(number))

    def _note(self, name: str, args: tuple[object, ...], code: int, where: str) -> None:
        if name in ALLOCATORS:
            self._memory.add(_read_target(args[0]), _read_int(args[1]) or 0)
        elif name in RELEASERS:
            self._memory.remove(_read_int(args[0]) or 0, where)
        elif code == 0 and name == "hipDeviceSynchronize":
            self._launches = []
        elif code == 0 and name in {"hipStreamSynchronize", "hipStreamQuery"}:
            self._end_stream(_read_int(args[0]) or 0)
        elif code == 0 and name == "hipMemcpy" and _read_int(args[3]) == _TO_HOST:
            self._end_stream(0)  # other streams may run on, and so may what comes before a copy to the device

    def _end_stream(self, stream: int) -> None:
        self._launches = [launch for launch in self._launches if launch.stream != stream]


def _make_three(sizes: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def _widen(value: object) -> object:
    """A bare int may be a pointer or a size: 64 bits. The ABI takes smaller ones from the same register."""
    return ctypes.c_size_t(value & 0xFFFF_FFFF_FFFF_FFFF) if isinstance(value, int) else value


def _read_int(value: object) -> int | None:
    number = getattr(value, "value", value)
    if number is None and isinstance(value, ctypes.c_void_p):
        return 0
    return number if isinstance(number, int) else None


def _read_target(value: object) -> int:
    """What byref(c_void_p) or pointer(c_void_p) points to, after the call has filled it."""
    target = getattr(value, "_obj", None) or getattr(value, "contents", None)
    return _read_int(target) or 0


def _find_caller() -> str:
    """file:line of the first frame outside this package."""
    frame = sys._getframe(1)  # noqa: SLF001  # inspect.stack() reads sources, a thousand times slower
    while frame.f_back and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"
