"""An object of device code → the kernels in it, by the names of their descriptors.

Format: ELF's 64-bit symbol table; NAME.kd is of https://llvm.org/docs/AMDGPUUsage.html#kernel-descriptor.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_SECTION = struct.Struct("<IIQQQQIIQQ")
"""sh_name, sh_type, sh_flags, sh_addr, sh_offset, sh_size, sh_link, sh_info, sh_addralign, sh_entsize."""
_SYMBOL = struct.Struct("<IBBHQQ")
"""st_name, st_info, st_other, st_shndx, st_value, st_size."""
_SYMBOLS = 2
_OBJECT = 1
_SUFFIX = b".kd"


def list_kernels(content: bytes) -> tuple[str, ...]:
    """Mangled names, sorted. ValueError for what is no 64-bit little-endian ELF file, or is cut short."""
    if content[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no 64-bit ELF file")
    try:
        return tuple(sorted(_list_descriptors(content)))
    except (struct.error, IndexError, OverflowError) as fault:
        raise ValueError("an ELF file that is cut short") from fault


def _list_descriptors(content: bytes) -> Iterator[str]:
    (start,) = struct.unpack_from("<Q", content, 0x28)
    size, count = struct.unpack_from("<HH", content, 0x3A)
    sections = [_SECTION.unpack_from(content, start + number * size) for number in range(count)]
    for _, kind, _, _, offset, length, link, *_ in sections:
        if kind != _SYMBOLS:
            continue
        names_at, names_length = sections[link][4:6]
        names = content[names_at : names_at + names_length]
        for name, info, _, section, _, _ in _SYMBOL.iter_unpack(content[offset : offset + length]):
            text = names[name : names.find(b"\0", name)]
            if info & 0xF == _OBJECT and section and text.endswith(_SUFFIX):
                yield text.removesuffix(_SUFFIX).decode("utf-8", "surrogateescape")
