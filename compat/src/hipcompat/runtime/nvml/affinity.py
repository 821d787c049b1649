"""A card's address on the bus → the CPUs near to it, as the kernel says, in NVML's words of 64 bits."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from pathlib import Path

from hipcompat.runtime.nvml.faults import INVALID_ARGUMENT, NVMLError, refuse

DEVICES_PATH = Path("/sys/bus/pci/devices")
_BITS = 64


def list_local_cpus(address: str) -> tuple[int, ...]:
    """Numbers of CPUs. NVMLError_NotSupported where the kernel says nothing.

    Source: local_cpulist, https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-bus-pci).
    """
    try:
        return tuple(_read_list((DEVICES_PATH / address / "local_cpulist").read_text(encoding="ascii")))
    except (OSError, ValueError) as fault:
        raise refuse() from fault


def _read_list(text: str) -> Iterator[int]:
    """0-3,8 → 0, 1, 2, 3, 8."""
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def make_words(cpus: Iterable[int], count: int) -> ctypes.Array[ctypes.c_ulonglong]:
    """As nvidia-ml-py gives them: an array of `count` words, the first CPU in the lowest bit of the first word."""
    if count < 1:
        raise NVMLError(INVALID_ARGUMENT)
    words = (ctypes.c_ulonglong * count)()
    for cpu in cpus:
        if cpu < count * _BITS:
            words[cpu // _BITS] |= 1 << cpu % _BITS
    return words
