"""Allocations and releases as they happen → what is known of an address: to which block it belongs, or who freed it."""

from __future__ import annotations

from bisect import bisect_right, insort

_KEPT = 4096


class Memory:
    """Only what goes through this wrapper is known; nothing is said of other addresses."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._sizes: dict[int, int] = {}
        self._freed: dict[int, tuple[int, str]] = {}

    def add(self, address: int, size: int) -> None:
        """A block was allocated."""
        if address and address not in self._sizes:
            insort(self._starts, address)
            self._sizes[address] = size
            self._freed.pop(address, None)

    def remove(self, address: int, where: str) -> None:
        """A block was freed; the last thousands are remembered."""
        size = self._sizes.pop(address, None)
        if size is None:
            return
        self._starts.remove(address)
        self._freed[address] = (size, where)
        if len(self._freed) > _KEPT:
            del self._freed[next(iter(self._freed))]

    def describe(self, address: int, needed: int = 0) -> str:
        """What is wrong with an address from which `needed` bytes are used; "" for nothing that is known."""
        if address == 0:
            return "it is null"
        place = bisect_right(self._starts, address) - 1
        start = self._starts[place] if place >= 0 else None
        if start is not None and address < start + self._sizes[start]:
            left = start + self._sizes[start] - address
            return f"only {left} bytes are allocated from there, {needed} are used" if needed > left else ""
        for freed, (size, where) in reversed(self._freed.items()):
            if freed <= address < freed + size:
                return f"this memory was freed at {where}"
        if start is not None and address == start + self._sizes[start]:
            return f"this is the end of a block of {self._sizes[start]} bytes"
        return ""
