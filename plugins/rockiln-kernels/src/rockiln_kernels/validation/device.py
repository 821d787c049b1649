"""The HIP runtime by ctypes → DeviceMemory: allocate, copy, wait. Launches are librockiln's."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p

from rockiln_kernels.launcher import LaunchError, Status

_NAMES = ("libamdhip64.so.7", "libamdhip64.so.6")
_TO_DEVICE, _TO_HOST = 1, 2


class DeviceMemory:
    """Memory of the current device. `free` gives all of it back."""

    def __init__(self, driver: str | None = None) -> None:
        self._hip = _open_runtime(driver or os.environ.get("ROCKILN_HIP_LIBRARY"))
        self._hip.hipFree.argtypes = [c_void_p]
        self._hip.hipMemcpy.argtypes = [c_void_p, c_void_p, c_size_t, c_int]
        self._hip.hipGetErrorString.restype = c_char_p
        self._addresses: list[int] = []

    @property
    def version(self) -> str:
        """Of the runtime, as hipRuntimeGetVersion numbers it."""
        number = c_int()
        self._check("hipRuntimeGetVersion", self._hip.hipRuntimeGetVersion(byref(number)))
        return str(number.value)

    def place(self, content: bytes) -> int:
        """A copy on the device, at a multiple of 256."""
        address = c_void_p()
        self._check("hipMalloc", self._hip.hipMalloc(byref(address), c_size_t(max(1, len(content)))))
        assert address.value  # noqa: S101  # hipMalloc said so
        self._addresses.append(address.value)
        self._check("hipMemcpy", self._hip.hipMemcpy(address, content, len(content), _TO_DEVICE))
        return address.value

    def read(self, address: int, size_bytes: int) -> bytes:
        """Bytes of the device, after everything that was launched."""
        self.wait()
        content = ctypes.create_string_buffer(max(1, size_bytes))
        self._check("hipMemcpy", self._hip.hipMemcpy(content, address, size_bytes, _TO_HOST))
        return content.raw[:size_bytes]

    def wait(self) -> None:
        """Until all launches are done. Raises LaunchError for a fault of one."""
        self._check("hipDeviceSynchronize", self._hip.hipDeviceSynchronize())

    def free(self) -> None:
        """Give all back."""
        for address in self._addresses:
            self._hip.hipFree(address)
        self._addresses.clear()

    def _check(self, call: str, error: int) -> None:
        if error:
            raise LaunchError(Status.DRIVER, f"{call}: {self._hip.hipGetErrorString(error).decode()} ({error})")


def _open_runtime(asked: str | None) -> ctypes.CDLL:
    reasons = []
    for name in (asked,) if asked else _NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reasons.append(str(error))
    raise LaunchError(Status.NO_RUNTIME, f"no GPU runtime could be opened: {'; '.join(reasons)}")
