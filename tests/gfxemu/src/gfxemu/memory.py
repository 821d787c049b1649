"""Arrays and bytes → pieces of emulated global memory, each with unmapped space around it."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from gfxemu.faults import OutOfBounds

FIRST = 0x7000_0000_0000
GUARD = 1 << 16  # bytes that belong to nobody before and behind each buffer


@runtime_checkable
class HasBytes(Protocol):
    """NumPy arrays and what looks like them."""

    def tobytes(self) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """One allocation: emulated address, size in bytes, where its bytes are on the host."""

    name: str
    address: int
    size: int
    host: int
    writable: bool
    keep: object  # what owns the host bytes


class Memory:
    """Emulated global memory. Every access is checked against the exact bounds of some buffer."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self.next = FIRST

    def allocate(
        self,
        content: HasBytes | bytes | bytearray | int,
        name: str = "",
        alignment: int = 256,
        *,
        writable: bool = True,
    ) -> int:
        """A buffer with these contents (an int: so many zero bytes); returns its address."""
        raw = bytes(content) if isinstance(content, int | bytes | bytearray | memoryview) else content.tobytes()
        store = ctypes.create_string_buffer(raw, max(1, len(raw)))
        address = -(-(self.next + GUARD) // alignment) * alignment
        self.next = address + len(raw) + GUARD
        buffer = Buffer(
            name=name or f"buffer{len(self.buffers)}",
            address=address,
            size=len(raw),
            host=ctypes.addressof(store),
            writable=writable,
            keep=store,
        )
        self.insert(buffer)
        return address

    def map_host(self, address: int, size: int, name: str = "", *, writable: bool = True) -> int:
        """Real memory of this process at its own address: what a fake HIP's device pointers are."""
        self.insert(
            Buffer(
                name=name or f"host{address:#x}", address=address, size=size, host=address, writable=writable, keep=None
            )
        )
        return address

    def insert(self, buffer: Buffer) -> None:
        """Keep buffers sorted; two must not overlap."""
        for other in self.buffers:
            if buffer.address < other.address + other.size and other.address < buffer.address + buffer.size:
                raise ValueError(f"{buffer.name} overlaps {other.name}")
        self.buffers.append(buffer)
        self.buffers.sort(key=lambda item: item.address)

    def find(self, address: int, size: int) -> Buffer:
        """The buffer that holds all of a range, or OutOfBounds."""
        for buffer in self.buffers:
            if buffer.address <= address and address + size <= buffer.address + buffer.size:
                return buffer
        raise OutOfBounds(f"{size} bytes at {address:#x} are in no buffer")

    def read(self, address: int, size: int) -> bytes:
        """Bytes of one buffer."""
        buffer = self.find(address, size)
        return ctypes.string_at(buffer.host + address - buffer.address, size)

    def write(self, address: int, content: bytes) -> None:
        """Overwrite bytes of one buffer."""
        buffer = self.find(address, len(content))
        ctypes.memmove(buffer.host + address - buffer.address, content, len(content))

    def free(self, address: int) -> None:
        """Forget the buffer that starts here; later accesses to it are faults."""
        self.buffers = [buffer for buffer in self.buffers if buffer.address != address]

    def name_at(self, address: int) -> str:
        """The nearest buffer, for messages: `x+0x10`, or `0x20 behind x`."""
        near = min(
            self.buffers,
            key=lambda b: (
                0
                if b.address <= address < b.address + b.size
                else min(abs(address - b.address), abs(address - b.address - b.size))
            ),
            default=None,
        )
        if near is None:
            return ""
        if address < near.address:
            return f"{near.address - address:#x} bytes before {near.name}"
        offset = address - near.address
        return (
            f"{near.name}+{offset:#x}"
            if offset < near.size
            else f"{offset - near.size:#x} bytes behind {near.name} of {near.size} bytes"
        )
