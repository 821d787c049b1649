"""Bytes of /etc/ld.so.cache → soname → path, as glibc's loader looks them up.

Format: struct cache_file_new in sysdeps/generic/dl-cache.h of glibc, whose magic begins it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

MAGIC = b"glibc-ld.so.cache1.1"
_HEADER = struct.Struct("<20sIIB3xI12x")
_ENTRY = struct.Struct("<iIIIQ")
_X86_64 = 0x0303
"""FLAG_ELF_LIBC6 | FLAG_X8664_LIB64"""


def read_loader_cache(content: bytes) -> Mapping[str, str]:
    """Paths without the leading slash; of several entries the first without a CPU's name, as every machine sees it."""
    start = content.find(MAGIC)
    if start < 0 or start + _HEADER.size > len(content):
        return {}
    _, count, _, _, _ = _HEADER.unpack_from(content, start)
    found: dict[str, str] = {}
    for number in range(count):
        place = start + _HEADER.size + number * _ENTRY.size
        if place + _ENTRY.size > len(content):
            break
        flags, key, value, _, capabilities = _ENTRY.unpack_from(content, place)
        if flags == _X86_64 and not capabilities:
            found.setdefault(_text_at(content, start + key), _text_at(content, start + value).lstrip("/"))
    return found


def _text_at(content: bytes, place: int) -> str:
    return content[place : content.find(b"\0", place)].decode("utf-8", "surrogateescape")
