"""Two ELF files' bytes + archs → how they differ once loaded: a loader in a few lines, to judge cut and verifier by.

It shares no code with rockiln but the question which ids serve an arch, and knows only what these files need: PT_LOAD,
RELA, words that RELR relocates in place, and wrappers of bundles.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

import zstandard

from rockiln.fatbin.entry_ids import serves

Load = tuple[int, int, int, int, int]
"""Address, bytes in the file, bytes in memory, offset, rights."""
_RELA, _SYMBOL = struct.Struct("<QQq"), struct.Struct("<IBBHQQ")
_MOST_ZEROS = 1 << 16


class NotLoadableError(Exception):
    """No loader would take this file."""


DAMAGE = (
    NotLoadableError, LookupError, struct.error, ValueError, OverflowError, MemoryError, zlib.error,
    zstandard.ZstdError,
)  # fmt: skip


@dataclass(frozen=True)
class Image:
    """A file as a loader maps it."""

    content: bytes

    @cached_property
    def segments(self) -> list[tuple[int, ...]]:
        (start,) = struct.unpack_from("<Q", self.content, 32)
        size, count = struct.unpack_from("<HH", self.content, 54)
        if size != 56 or self.content[:4] != b"\x7fELF":
            raise NotLoadableError
        return [struct.unpack_from("<IIQQQQQQ", self.content, start + 56 * number) for number in range(count)]

    @cached_property
    def loads(self) -> list[Load]:
        loads = [(one[3], one[5], one[6], one[2], one[1]) for one in self.segments if one[0] == 1]
        end = 0
        for address, file_bytes, memory_bytes, offset, _ in loads:
            is_inside = offset + file_bytes <= len(self.content) and file_bytes <= memory_bytes
            if not is_inside or (offset - address) % 4096 or address < end or address + memory_bytes > 1 << 47:
                raise NotLoadableError
            end = address + memory_bytes
        return loads

    def read(self, address: int, size_bytes: int) -> bytes:
        for start, file_bytes, memory_bytes, offset, _ in self.loads:
            if start <= address and address + size_bytes <= start + memory_bytes:
                first = address - start
                held = self.content[offset + first : offset + min(file_bytes, first + size_bytes)]
                return held.ljust(size_bytes, b"\0")
        raise NotLoadableError

    def rights(self, address: int) -> int | None:
        return next((one[4] for one in self.loads if one[0] <= address < one[0] + one[2]), None)

    @cached_property
    def sections(self) -> Mapping[str, tuple[int, int, int]]:
        """Name → address, size, number."""
        (start,) = struct.unpack_from("<Q", self.content, 40)
        count, names = struct.unpack_from("<HH", self.content, 60)
        rows = [struct.unpack_from("<IIQQQQIIQQ", self.content, start + 64 * number) for number in range(count)]
        texts = self.content[rows[names][4] :]
        named = ((texts[row[0] : texts.index(b"\0", row[0])], row, number) for number, row in enumerate(rows))
        return {name.decode("latin-1"): (row[3], row[5], number) for name, row, number in named}

    @cached_property
    def dynamic(self) -> Mapping[int, int]:
        segment = next((one for one in self.segments if one[0] == 2), None)
        return dict(struct.iter_unpack("<QQ", self.read(segment[3], segment[5] // 16 * 16))) if segment else {}

    @cached_property
    def rela(self) -> list[tuple[int, int, int, int]]:
        """Address of the row, place, info, addend."""
        start, size_bytes = self.dynamic.get(7, 0), self.dynamic.get(8, 0)
        rows = _RELA.iter_unpack(self.read(start, size_bytes // 24 * 24)) if size_bytes else ()
        return [(start + 24 * number, *row) for number, row in enumerate(rows)]

    def symbol(self, number: int) -> int:
        return int(_SYMBOL.unpack(self.read(self.dynamic[6] + 24 * number, 24))[4])

    def relocated(self, place: int) -> int:
        """The word at `place`, as the program sees it."""
        for _, at, info, addend in self.rela:
            if at == place and info & 0xFFFFFFFF in {1, 8}:
                return addend + (self.symbol(info >> 32) if info & 0xFFFFFFFF == 1 else 0)
        return int.from_bytes(self.read(place, 8), "little")

    def slots(self) -> Iterator[int]:
        address, size_bytes, _ = self.sections[".hipFatBinSegment"]
        for place in range(address, address + size_bytes - 23, 24):
            if self.read(place, 8) != bytes(8):
                yield place + 8

    def objects(self, address: int) -> dict[str, str]:
        """Entry → hash of its code, as the runtime finds it at `address`."""
        start, size_bytes, _ = self.sections[".hip_fatbin"]
        return read_objects(self.read(address, start + size_bytes - address))


def read_objects(raw: bytes) -> dict[str, str]:
    """The same for the bytes of a bundle and what follows it."""
    raw = _unpack(raw) if raw[:4] == b"CCOB" else raw
    (count,), place, found = struct.unpack_from("<Q", raw, 24), 32, {}
    if raw[:24] != b"__CLANG_OFFLOAD_BUNDLE__":
        raise NotLoadableError
    for _ in range(count):
        offset, length, name_bytes = struct.unpack_from("<QQQ", raw, place)
        name = raw[place + 24 : place + 24 + name_bytes].decode("ascii")
        if offset + length > len(raw) or (place := place + 24 + name_bytes) > 4096:
            raise NotLoadableError
        found[name] = hashlib.sha256(raw[offset : offset + length]).hexdigest()
    return found


def _unpack(raw: bytes) -> bytes:
    version, method = struct.unpack_from("<HH", raw, 4)
    body = raw[{1: 20, 2: 24, 3: 32}[version] :]
    inflater = zstandard.ZstdDecompressor().decompressobj() if method else zlib.decompressobj()
    return inflater.decompress(body)


def judge(old: bytes, new: bytes, archs: AbstractSet[str]) -> str:
    """What is wrong with `new`; "" where nothing is, or where `old` is no file that a loader takes."""
    before, after = Image(old), Image(new)
    try:
        kept = {place: _keep(before.objects(before.relocated(place)), archs) for place in before.slots()}
        compared = _places_to_compare(before)
    except DAMAGE:
        return ""
    try:
        return _compare(before, after, kept, compared)
    except DAMAGE as fault:
        return f"the new file does not load: {fault!r}"


def judge_bundle(old: bytes, new: bytes, archs: AbstractSet[str]) -> str:
    """The same for bundles outside of ELF files."""
    try:
        kept = _keep(read_objects(old), archs)
    except DAMAGE:
        return ""
    try:
        return "" if read_objects(new) == kept else "other code objects"
    except DAMAGE as fault:
        return f"the new bundle cannot be read: {fault!r}"


def _keep(objects: dict[str, str], archs: AbstractSet[str]) -> dict[str, str]:
    return {name: one for name, one in objects.items() if serves(name, archs)}


def _places_to_compare(image: Image) -> list[tuple[int, bytes]]:
    """(address, bytes) of all that is loaded, with zeros in place of what may change."""
    start, size_bytes, index = image.sections[".hip_fatbin"]
    hole = range(start, start + size_bytes)
    free = [(place, 8) for place in image.slots()]
    free += [(row + 16, 8) for row, _, _, addend in image.rela if addend in hole]
    table, length, _ = image.sections.get(".dynsym", (0, 0, 0))
    rows = enumerate(_SYMBOL.iter_unpack(image.read(table, length // 24 * 24) if length else b""))
    free += [(table + 24 * number + 8, 16) for number, row in rows if row[3] == index]
    header = image.read(image.loads[0][0], 64)
    free += [(image.loads[0][0], 64), (image.loads[0][0] + int.from_bytes(header[32:40], "little"), 56 * header[56])]
    return [*_without(image, [*free, (start, size_bytes)])]


def _without(image: Image, free: list[tuple[int, int]]) -> Iterator[tuple[int, bytes]]:
    for address, file_bytes, memory_bytes, _, _ in image.loads:
        place, end = address, address + min(memory_bytes, file_bytes + _MOST_ZEROS)
        for start, size_bytes in sorted(free):
            if place < start < end:
                yield place, image.read(place, start - place)
            if start < end and start + size_bytes > place:
                place = max(place, start + size_bytes)
        if place < end:
            yield place, image.read(place, end - place)


def _compare(
    before: Image, after: Image, kept: Mapping[int, dict[str, str]], compared: list[tuple[int, bytes]]
) -> str:
    for address, content in compared:
        if after.read(address, len(content)) != content:
            return f"other bytes at {address:#x}"
        if before.rights(address) != after.rights(address):
            return f"other rights at {address:#x}"
    if list(after.slots()) != list(kept):
        return "other wrappers"
    for place, objects in kept.items():
        if after.objects(after.relocated(place)) != objects:
            return f"other code objects behind {place:#x}"
    return ""
