"""ROCm's roctx, if it is there → a named range around every call, which rocprof shows. Without it nothing happens."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

from rockiln_torch import native

LIBRARIES = ("librocprofiler-sdk-roctx.so.1", "librocprofiler-sdk-roctx.so", "libroctx64.so.4", "libroctx64.so")
"""ROCm 7's own, and the older one; ROCKILN_ROCTX_LIBRARY goes first."""


class Ranges:
    """roctx's two functions, or nothing."""

    def __init__(self) -> None:
        self.library = _open_roctx()
        if self.library:
            self.library.roctxRangePushA.argtypes = [ctypes.c_char_p]

    def push(self, name: str) -> None:
        """Begin a range in this thread."""
        if self.library:
            self.library.roctxRangePushA(name.encode())

    def pop(self) -> None:
        """End the range that began last."""
        if self.library:
            self.library.roctxRangePop()


def _open_roctx() -> ctypes.CDLL | None:
    names = (*filter(None, [os.environ.get("ROCKILN_ROCTX_LIBRARY")]), *LIBRARIES)
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


current: list[Ranges] = []
"""The ranges that are on; compositions ask it."""


@contextmanager
def name_ranges() -> Iterator[bool]:
    """Within the block each call has a range "rockiln::OP". Gives whether roctx is there."""
    ranges = Ranges()
    if ranges.library is None:
        yield False
        return
    current.append(ranges)
    native.trace_calls(ranges.library.roctxRangePushA, ranges.library.roctxRangePop)
    try:
        yield True
    finally:
        current.remove(ranges)
        if not current:
            native.trace_calls(None, None)
