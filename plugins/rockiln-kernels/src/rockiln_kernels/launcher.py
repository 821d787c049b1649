"""librockiln.so by ctypes → Launcher, LoadedPack, LoadedKernel. launcher/rockiln.h documents what they call.

Importing this opens nothing; `open_launcher` opens the GPU's runtime.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Mapping, Sequence
from ctypes import POINTER, byref, c_char, c_char_p, c_float, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rockiln_kernels.bind import BoundLaunch

ABI_VERSION = 1
NAME = "librockiln.so"
_BACKENDS = {"hip": 0, "cuda": 1}
_KINDS = {"pointer": 1, "i32": 2, "i64": 3, "f32": 4}


class Status(IntEnum):
    """rockiln_status."""

    OK = 0
    NO_RUNTIME = 1
    NO_DEVICE = 2
    BAD_PACK = 3
    UNKNOWN_KERNEL = 4
    BAD_ARGUMENT = 5
    WRONG_ARCH = 6
    LIMIT = 7
    CAPTURING = 8
    DRIVER = 9
    NO_MEMORY = 10
    NO_PLANNER = 11
    UNKNOWN_OP = 12
    CALL_TYPE = 13
    CALL_VALUE = 14
    CALL_LAYOUT = 15
    NOT_SELECTED = 16
    STALE = 17
    PLANNER = 18


class LaunchError(Exception):
    """A call that librockiln refused or the driver failed; the message names op, kernel, arch and shapes."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status


class NumberUnion(ctypes.Union):
    """rockiln_value.as."""

    _fields_ = (("address", c_uint64), ("integer", c_int64), ("number", c_float))


class ValueStruct(ctypes.Structure):
    """rockiln_value."""

    _fields_ = (("kind", c_uint32), ("reserved", c_uint32), ("as_", NumberUnion))


class CallStruct(ctypes.Structure):
    """rockiln_call."""

    _fields_ = (
        ("struct_bytes", c_uint32),
        ("device", c_int32),
        ("kernel", c_void_p),
        ("stream", c_void_p),
        ("grid", c_uint32 * 3),
        ("value_count", c_uint32),
        ("values", POINTER(ValueStruct)),
        ("op", c_char_p),
        ("shapes", c_char_p),
    )


class _DeviceFacts(ctypes.Structure):
    _fields_ = (
        ("arch", c_char * 64),
        ("threads_limit", c_uint32),
        ("shared_limit", c_uint32),
        ("grid_limit", c_uint32 * 3),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One GPU: LLVM's name, and what a workgroup and a grid may have on it."""

    number: int
    arch: str
    threads_limit: int
    shared_limit_bytes: int
    grid_limit: tuple[int, int, int]


def find_library() -> Path:
    """Beside this module, as in the wheel; else in build/ of the checkout that an editable install points to."""
    installed = Path(__file__).with_name(NAME)
    built = Path(__file__).parents[2] / "build" / NAME
    return built if built.is_file() and not installed.is_file() else installed


def open_library(path: Path) -> ctypes.CDLL:
    """librockiln, its functions declared. Raises LaunchError if it is not there or has another ABI."""
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        hint = "install the wheel of rockiln-kernels, or build it: pip install -e plugins/rockiln-kernels needs g++"
        raise LaunchError(Status.NO_RUNTIME, f"{path} cannot be opened: {error}; {hint}") from error
    if (version := library.rockiln_abi_version()) != ABI_VERSION:
        raise LaunchError(Status.NO_RUNTIME, f"{path} has ABI {version}, not {ABI_VERSION}: it is of another version")
    for name in ("rockiln_last_error", "rockiln_pack_arch", "rockiln_pack_sha256"):
        getattr(library, name).restype = c_char_p
    library.rockiln_open_runtime.argtypes = [c_int32, c_char_p, POINTER(c_void_p)]
    library.rockiln_count_devices.argtypes = [c_void_p, POINTER(c_int32)]
    library.rockiln_read_device.argtypes = [c_void_p, c_int32, POINTER(_DeviceFacts)]
    library.rockiln_open_pack.argtypes = [c_void_p, c_char_p, POINTER(c_void_p)]
    library.rockiln_find_kernel.argtypes = [c_void_p, c_char_p, POINTER(c_void_p)]
    library.rockiln_preload.argtypes = [c_void_p, c_int32]
    library.rockiln_launch.argtypes = [POINTER(CallStruct)]
    for name in ("rockiln_pack_arch", "rockiln_pack_sha256", "rockiln_close_pack", "rockiln_close_runtime"):
        getattr(library, name).argtypes = [c_void_p]
    return library


def number_backend(backend: str) -> int:
    """rockiln_backend of its name. Raises ValueError for another."""
    if backend not in _BACKENDS:
        raise ValueError(f"backend {backend!r} is not one of {', '.join(_BACKENDS)}")
    return _BACKENDS[backend]


class Launcher:
    """An opened GPU runtime. Closed with the last object that uses it."""

    def __init__(self, backend: Literal["hip", "cuda"] = "hip", driver: str | None = None, library: Path | None = None):
        number = number_backend(backend)
        self.library = open_library(library or find_library())
        self.handle = c_void_p()
        self.check(self.library.rockiln_open_runtime(number, encode_text(driver), byref(self.handle)))
        weakref.finalize(self, self.library.rockiln_close_runtime, self.handle)

    def check(self, status: int) -> None:
        """Raise LaunchError unless `status` is 0."""
        if status:
            raise LaunchError(Status(status), self.library.rockiln_last_error().decode(errors="replace"))

    def count_devices(self) -> int:
        """How many GPUs there are. Raises LaunchError(NO_DEVICE) if none."""
        count = c_int32()
        self.check(self.library.rockiln_count_devices(self.handle, byref(count)))
        return count.value

    def read_device(self, number: int = -1) -> Device:
        """What is known of a GPU (-1: this thread's current one)."""
        facts = _DeviceFacts()
        self.check(self.library.rockiln_read_device(self.handle, number, byref(facts)))
        x, y, z = facts.grid_limit
        return Device(
            number=number,
            arch=facts.arch.decode(),
            threads_limit=facts.threads_limit,
            shared_limit_bytes=facts.shared_limit,
            grid_limit=(x, y, z),
        )

    def open_pack(self, folder: Path) -> LoadedPack:
        """The pack in `folder`. Raises LaunchError(BAD_PACK)."""
        return LoadedPack(self, folder)


class LoadedPack:
    """A pack that kernels can be launched of."""

    def __init__(self, launcher: Launcher, folder: Path) -> None:
        self.launcher = launcher
        handle = c_void_p()
        launcher.check(launcher.library.rockiln_open_pack(launcher.handle, encode_text(str(folder)), byref(handle)))
        self.handle = handle
        self.arch: str = launcher.library.rockiln_pack_arch(handle).decode()
        self.sha256: str = launcher.library.rockiln_pack_sha256(handle).decode()
        weakref.finalize(self, _close_pack, launcher, handle)

    def find_kernel(self, key: str) -> LoadedKernel:
        """The kernel of that key in the manifest. Raises LaunchError(UNKNOWN_KERNEL)."""
        handle = c_void_p()
        self.launcher.check(self.launcher.library.rockiln_find_kernel(self.handle, key.encode(), byref(handle)))
        return LoadedKernel(pack=self, key=key, handle=handle)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedKernel:
    """A kernel of an opened pack."""

    pack: LoadedPack
    key: str
    handle: c_void_p

    def preload(self, device: int = -1) -> None:
        """Load it on a device, so that it can be launched while a graph is captured."""
        self.pack.launcher.check(self.pack.launcher.library.rockiln_preload(self.handle, device))

    def launch(
        self,
        grid: Sequence[int],
        values: Sequence[tuple[str, float]],
        *,
        device: int = -1,
        stream: int = 0,
        op: str = "",
        shapes: str = "",
    ) -> None:
        """Check and launch. `values`: kind and value of each argument of the manifest that is not `null`.

        Raises LaunchError for what librockiln or the driver refuses, and for a grid that the ABI's 32 bits cannot hold.
        """
        if not all(0 <= count < 2**32 for count in grid):  # ctypes would take the low bits
            raise LaunchError(Status.LIMIT, f"{op or self.key}: a grid of {' x '.join(map(str, grid))} workgroups")
        array = (ValueStruct * len(values))(*(make_value(kind, value) for kind, value in values))
        call = CallStruct(
            struct_bytes=ctypes.sizeof(CallStruct),
            device=device,
            kernel=self.handle,
            stream=stream or None,
            grid=(c_uint32 * 3)(*grid),
            value_count=len(values),
            values=array,
            op=op.encode(),
            shapes=shapes.encode(),
        )
        self.pack.launcher.check(self.pack.launcher.library.rockiln_launch(byref(call)))


def list_values(launch: BoundLaunch, addresses: Mapping[str, int]) -> list[tuple[str, float]]:
    """What LoadedKernel.launch takes, of a bound launch and the addresses of its arrays and workspaces."""
    args = [arg for arg in launch.kernel.args if arg.kind != "null"]
    return [(arg.kind, addresses[arg.value] if arg.kind == "pointer" else launch.scalars[arg.name]) for arg in args]


def make_value(kind: str, value: Any) -> ValueStruct:
    """The structure of a value of `kind`; an unknown kind becomes a number that librockiln refuses."""
    field = {"pointer": "address", "f32": "number"}.get(kind, "integer")
    return ValueStruct(_KINDS.get(kind, len(_KINDS) + 1), 0, NumberUnion(**{field: value}))


def encode_text(text: str | None) -> bytes | None:
    """UTF-8, or the null pointer."""
    return None if text is None else text.encode()


def _close_pack(launcher: Launcher, handle: c_void_p) -> None:
    launcher.library.rockiln_close_pack(handle)
