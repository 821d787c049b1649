"""A CUDA driver and a pack → CudaMachine: memory on the card, librockiln's launches, times by CUDA events."""

from __future__ import annotations

import ctypes
import statistics
from collections.abc import Callable, Mapping
from ctypes import byref, c_float, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from gpu.probe import describe_error, open_driver
from rockiln_kernels.bind import BoundLaunch
from rockiln_kernels.launcher import Launcher, LoadedPack, list_values

WARM_UP, BATCHES = 3, 5
BATCH_US = 5_000.0
"""Launches of a batch take about this long, so that one event's half microsecond does not count."""


class CudaError(Exception):
    """A call of the driver that failed. After a fault of a kernel every later call of the process fails, too."""


class CudaMachine:
    """The first card's primary context, in this process. `launches` is what was launched since the last `free`."""

    def __init__(self, folder: Path) -> None:
        self._cuda = open_driver()
        self._cuda.cuMemFree_v2.argtypes = [c_uint64]
        self._cuda.cuMemcpyHtoD_v2.argtypes = [c_uint64, c_void_p, c_size_t]
        self._cuda.cuMemcpyDtoH_v2.argtypes = [c_void_p, c_uint64, c_size_t]
        self._cuda.cuMemcpyDtoDAsync_v2.argtypes = [c_uint64, c_uint64, c_size_t, c_void_p]
        context = c_void_p()
        self._call("cuInit", 0)
        self._call("cuDevicePrimaryCtxRetain", byref(context), 0)
        self._call("cuCtxSetCurrent", context)
        self.pack: LoadedPack = Launcher("cuda").open_pack(folder)
        self.launches: list[tuple[BoundLaunch, Mapping[str, int]]] = []
        self._addresses: list[int] = []

    def allocate(self, content: bytes, name: str) -> int:  # noqa: ARG002  # memory of a card has no names
        """A copy on the card, at a multiple of 256."""
        address = self.reserve(len(content))
        self._call("cuMemcpyHtoD_v2", address, content, len(content))
        return address

    def reserve(self, size: int) -> int:
        """Memory of undefined content."""
        address = c_uint64()
        self._call("cuMemAlloc_v2", byref(address), c_size_t(max(1, size)))
        self._addresses.append(address.value)
        return address.value

    def read(self, address: int, size: int) -> bytes:
        """Bytes of the card, after everything that was launched. Raises CudaError for a fault of it."""
        self._call("cuCtxSynchronize")
        content = ctypes.create_string_buffer(max(1, size))
        self._call("cuMemcpyDtoH_v2", content, address, size)
        return content.raw[:size]

    def launch(self, launch: BoundLaunch, addresses: Mapping[str, int]) -> None:
        """By librockiln, which checks it first."""
        self.pack.find_kernel(launch.key).launch(launch.grid, list_values(launch, addresses))
        self.launches.append((launch, addresses))

    def free(self) -> None:
        """Give all memory back."""
        self.launches.clear()
        while self._addresses:
            self._call("cuMemFree_v2", self._addresses.pop())

    def copy(self, to: int, source: int, size: int) -> None:
        """Within the card, in the order of launches."""
        self._call("cuMemcpyDtoDAsync_v2", to, source, size, None)

    def measure_us(self, work: Callable[[], None]) -> float:
        """Microseconds that one `work` takes on the card: the median of batches, caches warm."""
        for _ in range(WARM_UP):
            work()
        once = self._measure_batch(work, 1)
        count = max(1, min(200, int(BATCH_US / max(once, 1.0))))
        return statistics.median(self._measure_batch(work, count) for _ in range(BATCHES))

    def _measure_batch(self, work: Callable[[], None], count: int) -> float:
        events = (c_void_p(), c_void_p())
        for event in events:
            self._call("cuEventCreate", byref(event), 0)
        self._call("cuEventRecord", events[0], None)
        for _ in range(count):
            work()
        self._call("cuEventRecord", events[1], None)
        self._call("cuEventSynchronize", events[1])
        elapsed_ms = c_float()
        self._call("cuEventElapsedTime", byref(elapsed_ms), *events)
        for event in events:
            self._call("cuEventDestroy_v2", event)
        return elapsed_ms.value * 1000.0 / count

    def _call(self, name: str, *arguments: Any) -> None:
        function = getattr(self._cuda, name)
        function.restype = c_int
        if error := function(*arguments):
            raise CudaError(describe_error(self._cuda, name, error))
