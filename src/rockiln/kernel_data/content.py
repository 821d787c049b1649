"""First bytes of a file → Content: a bare code object, an offload bundle raw or compressed, or something else.

A code object is an ELF file for machine 224 whose e_flags name the GPU:
https://llvm.org/docs/AMDGPUUsage.html#amdgpu-elf-header-e-flags-v4-table.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import zstandard

from rockiln.fatbin import bundle, compressed
from rockiln.fatbin.byte_source import ByteSource
from rockiln.fatbin.entry_ids import is_host, target_of
from rockiln.fatbin.refusal import RefusedError, require

HEAD_BYTES = 64
"""What `sniff` needs."""

Kind = Literal["code-object", "bundle", "compressed-bundle", "host-elf", "other"]

_EM_AMDGPU = 224
_MACHINES = {
    0x2A: "gfx803", 0x2C: "gfx900", 0x2D: "gfx902", 0x2E: "gfx904", 0x2F: "gfx906", 0x30: "gfx908", 0x31: "gfx909",
    0x32: "gfx90c", 0x3F: "gfx90a", 0x40: "gfx940", 0x4B: "gfx941", 0x4C: "gfx942", 0x4F: "gfx950",
    0x33: "gfx1010", 0x34: "gfx1011", 0x35: "gfx1012", 0x42: "gfx1013",
    0x36: "gfx1030", 0x37: "gfx1031", 0x38: "gfx1032", 0x39: "gfx1033", 0x3E: "gfx1034", 0x3D: "gfx1035",
    0x45: "gfx1036", 0x41: "gfx1100", 0x46: "gfx1101", 0x47: "gfx1102", 0x44: "gfx1103", 0x43: "gfx1150",
    0x4A: "gfx1151", 0x55: "gfx1152", 0x58: "gfx1153", 0x48: "gfx1200", 0x4E: "gfx1201", 0x49: "gfx1250",
    0x51: "gfx9-generic", 0x52: "gfx10-1-generic", 0x53: "gfx10-3-generic", 0x54: "gfx11-generic",
    0x59: "gfx12-generic", 0x5F: "gfx9-4-generic",
}  # fmt: skip
_FEATURES = (
    (0xC00, 0xC00, ":sramecc+"),
    (0xC00, 0x800, ":sramecc-"),
    (0x300, 0x300, ":xnack+"),
    (0x300, 0x200, ":xnack-"),
)
_PEEK_BYTES = 4096
_PACKED_BYTES = 1 << 18
"""Enough for the first block of a zstd stream, which is 128 KiB at most, also where it does not compress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What the bytes say, whatever the name says."""

    kind: Kind
    targets: tuple[str, ...] = ()
    """Of a code object: one. Of a bundle: of each entry that holds code, as written; "" for one not understood."""


def sniff(head: bytes) -> Kind:
    """The kind of a file by its first HEAD_BYTES."""
    if head.startswith(bundle.MAGIC):
        return "bundle"
    if head.startswith(compressed.MAGIC):
        return "compressed-bundle"
    if head.startswith(b"\x7fELF\x02\x01") and len(head) >= HEAD_BYTES:
        return "code-object" if int.from_bytes(head[18:20], "little") == _EM_AMDGPU else "host-elf"
    return "other"


def read_content(source: ByteSource) -> Content:
    """What the file holds. Raises RefusedError for code that is damaged, or for an unknown GPU."""
    head = source.read(0, min(HEAD_BYTES, source.size_bytes))
    kind = sniff(head)
    if kind == "code-object":
        return Content(kind=kind, targets=(_read_target(head),))
    if kind == "bundle":
        return Content(kind=kind, targets=list_targets(source.read(0, min(_PEEK_BYTES, source.size_bytes))))
    if kind == "compressed-bundle":
        return Content(kind=kind, targets=list_targets(unpack_head(source, 0, source.size_bytes)))
    return Content(kind=kind)


def _read_target(head: bytes) -> str:
    flags = int.from_bytes(head[48:52], "little")
    machine = _MACHINES.get(flags & 0xFF, "")
    require(machine, f"a code object for an unknown machine {flags & 0xFF:#x}")
    return machine + "".join(text for mask, value, text in _FEATURES if flags & mask == value)


def list_targets(table: bytes) -> tuple[str, ...]:
    """Targets of a bundle's entries by its first 4 KiB; entries themselves are looked at when it is cut."""
    return tuple(target_of(name) for name in _read_names(table) if not is_host(name))


def _read_names(table: bytes) -> Iterator[str]:
    place = len(bundle.MAGIC)
    require(table.startswith(bundle.MAGIC) and len(table) >= place + 8, "a bundle that is cut short")
    count = int.from_bytes(table[place : place + 8], "little")
    place += 8
    require(0 < count <= _PEEK_BYTES // 24, f"a bundle that claims {count} entries")
    for _ in range(count):
        require(place + 24 <= len(table), "a bundle whose table exceeds 4 KiB")
        name_bytes = struct.unpack_from("<16xQ", table, place)[0]
        place += 24 + name_bytes
        require(place <= len(table), "a bundle whose table exceeds 4 KiB")
        yield table[place - name_bytes : place].decode("latin-1")


def unpack_head(source: ByteSource, start: int, end: int) -> bytes:
    """The first bytes of the compressed bundle at `start`, its table with them, without unpacking the rest."""
    _, method, header_bytes = compressed.read_header(source, start, end)
    packed = source.read(start + header_bytes, min(_PACKED_BYTES, end - start - header_bytes))
    try:
        if method == compressed.ZLIB:
            return zlib.decompressobj().decompress(packed, _PEEK_BYTES)
        reader = zstandard.ZstdDecompressor(max_window_size=1 << compressed.WINDOW_LOG).stream_reader(packed)
        return reader.read(_PEEK_BYTES)
    except (zlib.error, zstandard.ZstdError) as fault:
        raise RefusedError(f"a compressed bundle cannot be unpacked: {fault}") from None
