"""Manifest → index.bin, what librockiln reads of a pack instead of JSON. docs/launcher.md documents the format."""

from __future__ import annotations

import hashlib
import struct

from rockiln_kernels.archs import ARCHS
from rockiln_kernels.pack.intact import seal_index
from rockiln_kernels.pack.manifest import KINDS, ArgumentEntry, KernelEntry, Manifest, dump_manifest

MAGIC = b"RKPACK\0\0"
VERSION = 2
_HEADER = struct.Struct("<8s7Ixxxx32s")
"""Behind it stands the sha256 of the file without that sha256."""
_KERNEL = struct.Struct("<4IQ5Ixxxx32s")
_ARGUMENT = struct.Struct("<5I")


class _Texts:
    """Strings, each kept once, by offset."""

    def __init__(self) -> None:
        self.content = bytearray()
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        if text not in self._places:
            self._places[text] = len(self.content)
            self.content += text.encode() + b"\0"
        return self._places[text]


def dump_index(manifest: Manifest) -> bytes:
    """The bytes: header, kernels sorted by the bytes of their key, arguments, texts; little endian.

    Raises ValueError for an arch that is not known here, and for a sha256 that is none.
    """
    if manifest.arch not in ARCHS:
        raise ValueError(f"a pack for {manifest.arch}, which is not among {', '.join(ARCHS)}")
    texts = _Texts()
    arch = texts.place(manifest.arch)
    kernels, arguments = bytearray(), bytearray()
    for key in sorted(manifest.kernels, key=str.encode):
        entry = manifest.kernels[key]
        kernels += _dump_kernel(key, entry, len(arguments) // _ARGUMENT.size, texts)
        for arg in entry.args:
            arguments += _dump_argument(arg, texts)
    digest = hashlib.sha256(dump_manifest(manifest).encode()).digest()
    backend = int(ARCHS[manifest.arch].backend == "cuda")
    counts = (len(manifest.kernels), len(arguments) // _ARGUMENT.size, len(texts.content))
    header = _HEADER.pack(MAGIC, VERSION, *counts, manifest.wave_lanes, arch, backend, digest)
    return seal_index(header, bytes(kernels + arguments + texts.content))


def _dump_kernel(key: str, entry: KernelEntry, first: int, texts: _Texts) -> bytes:
    names = (texts.place(text) for text in (key, entry.source, entry.symbol, entry.file))
    numbers = (entry.threads, entry.shared_bytes, entry.kernarg_bytes, first, len(entry.args))
    return _KERNEL.pack(*names, entry.size_bytes, *numbers, bytes.fromhex(entry.sha256))


def _dump_argument(arg: ArgumentEntry, texts: _Texts) -> bytes:
    return _ARGUMENT.pack(texts.place(arg.name), KINDS[arg.kind], arg.offset, arg.size_bytes, arg.divisible_by)
