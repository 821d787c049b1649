"""A wrapper's pointer in a Binary → the code objects that the runtime would find there, and their kernels."""

from __future__ import annotations

import hashlib
import struct
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, RawIOBase
from typing import IO, Any

import zstandard
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from rockiln.fatbin.verify.binary import Binary, read_at

_CHUNK_BYTES = 1 << 20
_SEEN_BY_RUNTIME_BYTES = 4096
_MAX_WINDOW_BYTES = 1 << 27
_FED_BYTES = 1 << 11


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeObject:
    """One entry of a bundle."""

    id: str
    descriptor: int
    offset: int
    """In the file of `descriptor`, which may be a temporary one."""
    size_bytes: int

    def chunks(self) -> Iterator[bytes]:
        for start in range(0, self.size_bytes, _CHUNK_BYTES):
            yield read_at(self.descriptor, min(_CHUNK_BYTES, self.size_bytes - start), self.offset + start)


Objects = Mapping[str, CodeObject]


@contextmanager
def open_bundle(binary: Binary, address: int, limit: int) -> Iterator[Objects]:
    """The bundle that a pointer leads to, by id; a compressed one is unpacked first. Raises ValueError."""
    if address % _SEEN_BY_RUNTIME_BYTES:
        raise ValueError(f"the bundle at {address:#x} is not on a page")
    holder = next((one for one in binary.ranges if one.start <= address < one.end and one.offset >= 0), None)
    if holder is None or limit > holder.end:
        raise ValueError(f"no bundle is loaded at {address:#x}")
    with open_bundle_at(binary.descriptor, holder.offset + address - holder.start, limit - address) as objects:
        yield objects


@contextmanager
def open_bundle_at(descriptor: int, offset: int, limit: int) -> Iterator[Objects]:
    """The same at an offset of an open file; it may be `limit` bytes long. Raises ValueError."""
    if read_at(descriptor, 4, offset) != b"CCOB":
        yield {one.id: one for one in _read_entries(descriptor, offset, limit)}
        return
    with tempfile.TemporaryFile(prefix="rockiln-") as spool:
        size_bytes = _unpack(descriptor, offset, limit, spool)
        yield {one.id: one for one in _read_entries(spool.fileno(), 0, size_bytes)}


def _unpack(descriptor: int, offset: int, limit: int, spool: IO[bytes]) -> int:
    version, method = struct.unpack("<HH", read_at(descriptor, 4, offset + 4))
    layout = {1: "<IQ", 2: "<IIQ", 3: "<QQQ"}[version]
    fields = struct.unpack(layout, read_at(descriptor, struct.calcsize(layout), offset + 8))
    start = offset + 8 + struct.calcsize(layout)
    end = offset + (limit if version == 1 else fields[0])
    if end > offset + limit:
        raise ValueError("a compressed bundle goes beyond its section or file")
    digest, written = hashlib.md5(usedforsecurity=False), 0
    inflate = _inflate_zstd if method == 1 else _inflate_zlib
    try:
        for piece in inflate(BufferedReader(_Part(descriptor, start, end - start))):
            digest.update(piece)
            written += spool.write(piece)
            if written > fields[-2]:
                break
    except (zlib.error, zstandard.ZstdError) as fault:
        raise ValueError(f"a compressed bundle cannot be unpacked: {fault}") from None
    spool.flush()
    if written != fields[-2] or digest.digest()[:8] != fields[-1].to_bytes(8, "little"):
        raise ValueError("a compressed bundle does not match its size or hash")
    return written


def _inflate_zstd(file: BufferedReader) -> Iterator[bytes]:
    """Little is fed at a time, for four bytes can unpack to 128 KiB."""
    inflater = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES).decompressobj()
    while not inflater.eof and (piece := file.read(_FED_BYTES)):
        yield inflater.decompress(piece)


def _inflate_zlib(file: BufferedReader) -> Iterator[bytes]:
    inflater = zlib.decompressobj()
    rest = b""
    while not inflater.eof and (rest := rest or file.read(_CHUNK_BYTES)):
        yield inflater.decompress(rest, _CHUNK_BYTES)
        rest = inflater.unconsumed_tail


def _read_entries(descriptor: int, offset: int, limit: int) -> Iterator[CodeObject]:
    head = read_at(descriptor, min(limit, _SEEN_BY_RUNTIME_BYTES), offset)
    if head[:24] != b"__CLANG_OFFLOAD_BUNDLE__":
        raise ValueError("the wrapper leads to no bundle")
    (count,) = struct.unpack_from("<Q", head, 24)
    place, seen = 32, set()
    for _ in range(count):
        start, size_bytes, id_bytes = struct.unpack_from("<QQQ", head, place)
        name = head[place + 24 : place + 24 + id_bytes].decode("ascii")
        place += 24 + id_bytes
        if place > len(head) or name in seen or start + size_bytes > limit:
            raise ValueError(f"entry {name!r} of a bundle is damaged")
        seen.add(name)
        yield CodeObject(id=name, descriptor=descriptor, offset=offset + start, size_bytes=size_bytes)


def is_equal(one: CodeObject, other: CodeObject) -> bool:
    """Byte for byte."""
    if one.size_bytes != other.size_bytes:
        return False
    return all(first == second for first, second in zip(one.chunks(), other.chunks(), strict=True))


def find_kernels(one: CodeObject) -> frozenset[str]:
    """Names of its kernel descriptors; none for what is no AMD code object. Raises ValueError for a damaged one."""
    if read_at(one.descriptor, 4, one.offset) != b"\x7fELF":
        return frozenset()
    try:
        elf = ELFFile(BufferedReader(_Part(one.descriptor, one.offset, one.size_bytes)))
        tables = [table for table in elf.iter_sections("SHT_DYNSYM") if isinstance(table, SymbolTableSection)]
        return frozenset(name for table in tables for name in _defined_names(table) if name.endswith(".kd"))
    except (ELFError, ValueError, KeyError, struct.error) as fault:
        raise ValueError(f"code object {one.id} is damaged: {fault}") from None


def _defined_names(table: SymbolTableSection) -> Iterator[str]:
    names: bytes = table.stringtable.data()
    for start, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", table.data()):
        if section:
            yield names[start : names.index(b"\0", start)].decode("ascii")


class _Part(RawIOBase):
    """Part of a file as a file of its own."""

    def __init__(self, descriptor: int, offset: int, size_bytes: int) -> None:
        self._descriptor, self._offset, self._size_bytes, self._place = descriptor, offset, max(0, size_bytes), 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        self._place = offset + (0, self._place, self._size_bytes)[whence]
        return self._place

    def readinto(self, buffer: Any, /) -> int:
        size_bytes = max(0, min(len(buffer), self._size_bytes - self._place))
        piece = read_at(self._descriptor, size_bytes, self._offset + self._place)
        buffer[: len(piece)] = piece
        self._place += len(piece)
        return len(piece)
