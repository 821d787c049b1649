"""fake_cuda.cc → FakeCuda: what tests set of the card, and what they count."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint32, c_void_p
from pathlib import Path

from fake_hip.libraries import compile_cpp

SOURCE = Path(__file__).with_name("fake_cuda.cc")
_KERNEL = ctypes.CFUNCTYPE(c_int, c_char_p, POINTER(c_uint32), c_uint32, c_void_p, c_size_t)
Player = Callable[[tuple[int, int, int], int, bytes], bool]
"""Grid, threads and kernarg segment of a launch → whether it went well; it may read and write what pointers lead to."""

_KEPT: list[object] = []
"""Callbacks: the library may call one as long as the process lives."""


class FakeCuda:
    """The library, set to one card. One at a time: its state is the process's."""

    def __init__(self, player: Player | None = None, *, devices: int = 1, minor: int = 0) -> None:
        self.path = compile_cpp("libcuda.so.1", (SOURCE,), ("-shared",))
        self.library = ctypes.CDLL(str(self.path))
        self._player = player
        self._callback = _KERNEL(self._play)
        _KEPT.append(self._callback)
        self.library.fake_cuda_reset(devices, minor, self._callback if player else None)

    def count(self, what: str) -> int:
        """How many `launches` or `allocations` there are."""
        return int(getattr(self.library, f"fake_cuda_{what}")())

    def _play(self, _symbol: bytes, grid: ctypes.Array[c_uint32], threads: int, kernarg: int, size: int) -> int:
        assert self._player
        x, y, z = grid[:3]
        return int(not self._player((x, y, z), threads, ctypes.string_at(kernarg, size)))
