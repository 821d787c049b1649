"""One file, given as bytes on this host and its path in the image → FileFacts: all that any audit asks of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from rockiln.audit.device_targets import read_device_targets
from rockiln.audit.installed.elf_facts import MAGIC, ElfFacts, read_elf_facts
from rockiln.audit.leak_words import Leak, find_leaks
from rockiln.kernel_data.content import HEAD_BYTES, Kind, sniff

_KEPT = re.compile(
    r"""
    .*/[^/]+\.(?:dist|egg)-info/(?:METADATA|PKG-INFO|RECORD|direct_url\.json)
    | .*/(?:site|dist)-packages/[^/]+\.(?:pth|egg-link)
    | .*/(?:site|dist)-packages/torch/version\.py
    | .*/(?:site|dist)-packages/rockiln_kernels/promised\.json
    | .*/manifest\.json
    | etc/(?:ld\.so\.cache | ld\.so\.conf(?:\.d/[^/]+)? | os-release | rockiln/version\.json)
    | usr/lib/os-release
    """,
    re.VERBOSE,
)
_HASHED = re.compile(r".*/(?:site|dist)-packages/.*|opt/[^/]+/bin/[^/]+|.*\.hsaco")
"""What a RECORD or a pack's manifest may vouch for."""
_MAX_KEPT_BYTES = 64 << 20
_MAX_SEARCHED_BYTES = 4 << 20
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to look for besides what every image is asked."""

    needles: tuple[str, ...] = ()
    """Hosts of mirrors that no image should name."""
    hashes: bool = True
    """False where the hashes of all files are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """What one file tells."""

    sha256: str = ""
    elf: ElfFacts | None = None
    targets: tuple[str, ...] = ()
    """GPUs it holds code for, with features: `gfx90a:xnack+`."""
    text: bytes | None = None
    leaks: tuple[Leak, ...] = ()
    fault: str = ""
    """Why it could not be read, where it looked like something that can be."""


NOTHING = FileFacts()


def inspect_file(path: str, size_bytes: int, file: BinaryIO, wanted: Wanted) -> FileFacts:
    """Read as little of it as its path and its first bytes ask for."""
    head = file.read(HEAD_BYTES)
    kind = sniff(head)
    sha256 = _hash(file) if wanted.hashes and _HASHED.fullmatch(path) else ""
    if kind != "other" or head.startswith(MAGIC):
        return _inspect_code(kind, file, sha256)
    text = _read(file) if _is_kept(path, size_bytes) else None
    leaks: tuple[Leak, ...] = ()
    if size_bytes <= _MAX_SEARCHED_BYTES or text is not None:
        leaks = tuple(find_leaks(path, _read(file) if text is None else text, wanted.needles))
    if not sha256 and text is None and not leaks:
        return NOTHING
    return FileFacts(sha256=sha256, text=text, leaks=leaks)


def wants_content(path: str, size_bytes: int, wanted: Wanted) -> bool:
    """Must a file that is no code be read beyond its first bytes?"""
    is_hashed = wanted.hashes and _HASHED.fullmatch(path) is not None
    return is_hashed or size_bytes <= _MAX_SEARCHED_BYTES or _is_kept(path, size_bytes)


def _inspect_code(kind: Kind, file: BinaryIO, sha256: str) -> FileFacts:
    try:
        targets = read_device_targets(file) if kind != "other" else ()  # of 32 bits: no GPU code, and maybe in memory
        file.seek(0)
        elf = read_elf_facts(file) if kind in {"host-elf", "other"} else None
        return FileFacts(sha256=sha256, elf=elf, targets=targets)
    except ValueError as fault:
        return FileFacts(sha256=sha256, fault=str(fault))


def _is_kept(path: str, size_bytes: int) -> bool:
    return size_bytes <= _MAX_KEPT_BYTES and _KEPT.fullmatch(path) is not None


def _read(file: BinaryIO) -> bytes:
    return b"".join(_chunks(file))


def _hash(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    for chunk in _chunks(file):
        digest.update(chunk)
    return digest.hexdigest()


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while chunk := file.read(_CHUNK_BYTES):
        yield chunk
