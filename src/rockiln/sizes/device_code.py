"""An open file → bytes of device code by target, as they lie on the disk.

A compressed bundle's bytes are divided among its targets as they would be when unpacked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO

from rockiln.fatbin.agreement import find_fat_section
from rockiln.fatbin.bundle import Bundle, Entry, read_bundle
from rockiln.fatbin.byte_source import ByteSource
from rockiln.fatbin.compressed import make_spool, unpack
from rockiln.fatbin.elf import read_elf
from rockiln.fatbin.entry_ids import is_host, target_of
from rockiln.fatbin.refusal import RefusedError
from rockiln.fatbin.section import AnyBundle, find_bundles
from rockiln.kernel_data.content import read_content

UNREAD = "unread"
"""Stands for the arch of device code that is in a form we do not know."""
MIN_BYTES = 4096
"""A smaller file is not looked into: it holds no page of device code."""


def measure_device_code(file: BinaryIO) -> dict[str, int]:
    """Target (`gfx90a:xnack+`, `gfx11-generic`) → bytes; empty for a file that holds none."""
    source = ByteSource(file.fileno())
    try:
        content = read_content(source)
    except RefusedError:
        return {UNREAD: source.size_bytes}
    if content.kind == "code-object":
        return {content.targets[0]: source.size_bytes}
    if content.kind in {"bundle", "compressed-bundle"}:
        return _measure_range(source, 0, source.size_bytes)
    return _measure_elf(source) if content.kind == "host-elf" else {}


def _measure_elf(source: ByteSource) -> dict[str, int]:
    try:
        elf = read_elf(source)
        section = find_fat_section(elf) if elf else None
    except RefusedError:
        return {}
    return _measure_range(source, section.offset, section.end) if section else {}


def _measure_range(source: ByteSource, start: int, end: int) -> dict[str, int]:
    try:
        bundles = find_bundles(source, start, end)
        return _add_up(pair for bundle in bundles for pair in _measure_bundle(source, bundle))
    except RefusedError:
        return {UNREAD: end - start}


def _measure_bundle(source: ByteSource, bundle: AnyBundle) -> list[tuple[str, int]]:
    if isinstance(bundle, Bundle):
        return [(_name(entry), entry.size_bytes) for entry in bundle.entries if not is_host(entry.id)]
    with make_spool() as spool:
        raw = unpack(source, bundle, spool)
        entries = [entry for entry in read_bundle(raw, 0, raw.size_bytes).entries if not is_host(entry.id)]
    total = sum(entry.size_bytes for entry in entries)
    return [(_name(entry), bundle.size_bytes * entry.size_bytes // total) for entry in entries if entry.size_bytes]


def _name(entry: Entry) -> str:
    return target_of(entry.id) or entry.id


def _add_up(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for name, size_bytes in pairs:
        if size_bytes:
            sums[name] = sums.get(name, 0) + size_bytes
    return dict(sorted(sums.items()))
