"""Files of an image → the archs that each kind of file is for, read without rockiln's own readers."""

from __future__ import annotations

import io
import re
import sqlite3
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

import zstandard
from elftools.elf.elffile import ELFFile

MACHINES = {0x3F: "gfx90a", 0x4C: "gfx942", 0x4F: "gfx950", 0x41: "gfx1100", 0x4E: "gfx1201", 0x30: "gfx908"}
PAGE = 4096
_ARCH = re.compile(r"gfx(?:90a|908|942|950|1100|1201)")
_FAMILIES = {"amd-gfx11xx": "gfx1100", "amd-gfx120x": "gfx1201"}

Inventory = Mapping[str, frozenset[str]]
"""Kind of file → archs."""


def list_archs(files: Mapping[str, bytes]) -> Inventory:
    """Of all files of an image that hold code, or data about code, for GPUs."""
    found: dict[str, set[str]] = {}
    for path, content in files.items():
        for kind, archs in _look(PurePosixPath(path), content):
            found.setdefault(kind, set()).update(archs)
    return {kind: frozenset(archs) for kind, archs in sorted(found.items())}


def _look(path: PurePosixPath, content: bytes) -> Iterator[tuple[str, set[str]]]:
    folder = str(path.parent)
    library = next((name for name in ("rocblas", "hipblaslt", "hipsparselt") if f"/{name}/library" in folder), "")
    code = set(_list_code(content))
    if code and content.startswith(b"\x7fELF\x02\x01\x01\x00"):
        yield "fat binaries", code
    elif code:
        yield f"{library} {path.suffix} files" if library else "code objects", code
    elif library and path.suffix == ".dat" and (named := set(_ARCH.findall(path.name))):
        yield f"{library} indexes", named
    elif folder.endswith("miopen/db") and (named := set(_ARCH.findall(path.name))):
        yield f"miopen {''.join(path.suffixes[-2:])}", named
    elif "aotriton.images/" in folder:
        name = next(part for part in path.parts if part.startswith("amd-gfx"))
        yield "aotriton images", {_FAMILIES.get(name, name.removeprefix("amd-"))}
    elif content.startswith(b"SQLite format 3\0") and path.name == "rocfft_kernel_cache.db":
        yield "rocfft cache", _list_rows(content)


def _list_code(content: bytes) -> Iterator[str]:
    if content.startswith((b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB")):
        yield from _list_bundle(content)
    elif content.startswith(b"\x7fELF\x02\x01"):
        if content[18:20] == (224).to_bytes(2, "little"):
            yield MACHINES[content[48]]
        elif b".hip_fatbin" in content:
            section = ELFFile(io.BytesIO(content)).get_section_by_name(".hip_fatbin")
            data = section.data() if section else b""
            for start in range(0, len(data), PAGE):
                if data[start : start + 4] in {b"__CL", b"CCOB"}:
                    yield from _list_bundle(data[start:])


def _list_bundle(data: bytes) -> Iterator[str]:
    if data.startswith(b"CCOB"):
        version, method = struct.unpack_from("<HH", data, 4)
        packed = data[{1: 20, 2: 24, 3: 32}[version] :]
        data = zstandard.ZstdDecompressor().decompressobj().decompress(packed) if method else zlib.decompress(packed)
    place = 32
    for _ in range(int.from_bytes(data[24:32], "little")):
        _, size_bytes, name_bytes = struct.unpack_from("<QQQ", data, place)
        name = data[place + 24 : place + 24 + name_bytes].decode()
        place += 24 + name_bytes
        if size_bytes:
            yield name.rpartition("--")[2].partition(":")[0]


def _list_rows(content: bytes) -> set[str]:
    with sqlite3.connect(":memory:") as connection:
        connection.deserialize(content)
        archs = {arch for (arch,) in connection.execute("SELECT DISTINCT arch FROM cache_v1")}
    connection.close()
    return archs
