"""The fake libamdhip64 → FakeHip, and a Machine on which librockiln launches a pack's kernels."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint32, c_void_p
from pathlib import Path
from typing import Any

from fake_hip.libraries import build_fake, build_launcher
from harness.execute import load_code
from rockiln_kernels.bind import BoundLaunch
from rockiln_kernels.launcher import Launcher, LoadedPack, list_values

_EMULATOR = ctypes.CFUNCTYPE(
    c_int, c_void_p, c_size_t, c_char_p, POINTER(c_uint32), c_uint32, c_uint32, c_void_p, c_size_t
)
_ROOM = 256


class FakeHip:
    """The library, set to one arch. One at a time: its state is the process's."""

    def __init__(self, arch: str = "gfx942", devices: int = 1, *, emulates: bool = True) -> None:
        self.path = build_fake()
        self.library = ctypes.CDLL(str(self.path))
        self.fault: Exception | None = None
        self._callback = _EMULATOR(self._emulate)
        self.library.fake_hip_reset(arch.encode(), devices, self._callback if emulates else None)
        self.library.hipFree.argtypes = [c_void_p]
        self.library.hipStreamBeginCapture.argtypes = [c_void_p, c_int]
        self.library.hipStreamEndCapture.argtypes = [c_void_p, POINTER(c_void_p)]

    def open_launcher(self) -> Launcher:
        """librockiln, with this as its driver."""
        return Launcher(driver=str(self.path), library=build_launcher())

    def allocate(self, size: int) -> int:
        """hipMalloc."""
        address = c_void_p()
        assert self.library.hipMalloc(byref(address), c_size_t(size)) == 0
        return address.value or 0

    def begin_capture(self, stream: int) -> None:
        """Capture a stream."""
        assert self.library.hipStreamBeginCapture(stream, 0) == 0

    def end_capture(self, stream: int) -> None:
        """End it; the graph is forgotten."""
        assert self.library.hipStreamEndCapture(stream, byref(c_void_p())) == 0

    def count(self, what: str) -> int:
        """How many `loads`, `launches` or `modules` there were since the reset."""
        return int(getattr(self.library, f"fake_hip_{what}")())

    def _map_memory(self) -> Any:
        import gfxemu

        addresses, sizes = (c_void_p * _ROOM)(), (c_size_t * _ROOM)()
        memory = gfxemu.Memory()
        for place in range(self.library.fake_hip_list_memory(addresses, sizes, _ROOM)):
            memory.map_host(addresses[place], sizes[place])
        return memory

    def _emulate(  # noqa: PLR0917  # a C callback
        self, image: int, size: int, symbol: bytes, grid: Any, threads: int, shared: int, kernarg: int, count: int
    ) -> int:
        import gfxemu

        try:
            gfxemu.launch(
                load_code(ctypes.string_at(image, size)).kernels[symbol.decode()],
                grid=tuple(grid[:3]),
                block=(threads, 1, 1),
                kernarg=ctypes.string_at(kernarg, count),
                memory=self._map_memory(),
                shared_bytes=shared,
                step_limit=50_000_000,
            )
        except Exception as fault:  # noqa: BLE001  # nothing may pass through C
            self.fault = fault
            return 1
        return 0


class LaunchedMachine:
    """Memory of the fake, and launches by librockiln."""

    def __init__(self, hip: FakeHip, folder: Path) -> None:
        self.hip = hip
        self.pack: LoadedPack = hip.open_launcher().open_pack(folder)
        self._addresses: list[int] = []

    def allocate(self, content: bytes, name: str) -> int:  # noqa: ARG002  # real memory has no names
        address = self.hip.allocate(len(content))
        ctypes.memmove(address, content, len(content))
        self._addresses.append(address)
        return address

    def read(self, address: int, size: int) -> bytes:
        return ctypes.string_at(address, size)

    def launch(self, launch: BoundLaunch, addresses: Mapping[str, int]) -> None:
        self.pack.find_kernel(launch.key).launch(launch.grid, list_values(launch, addresses))

    def free(self) -> None:
        """Give all memory back."""
        for address in self._addresses:
            assert self.hip.library.hipFree(address) == 0
        self._addresses.clear()
