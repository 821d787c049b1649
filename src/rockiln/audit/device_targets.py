"""An open file → the targets that it holds device code for. Of a compressed bundle only its table is unpacked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from rockiln.fatbin.agreement import find_fat_section
from rockiln.fatbin.bundle import Bundle
from rockiln.fatbin.byte_source import ByteSource
from rockiln.fatbin.elf import read_elf
from rockiln.fatbin.entry_ids import is_host, target_of
from rockiln.fatbin.refusal import RefusedError
from rockiln.fatbin.section import find_bundles
from rockiln.kernel_data.content import list_targets, read_content, unpack_head

UNREAD = "unread"
"""Stands for code in a form that is not known: it may serve every GPU."""


def read_device_targets(file: BinaryIO) -> tuple[str, ...]:
    """Targets such as `gfx90a:xnack+`, sorted; none for a file without device code. Raises ValueError for a file of
    device code alone that is damaged."""
    source = ByteSource(file.fileno())
    try:
        content = read_content(source)
    except RefusedError as fault:
        raise ValueError(fault.reason) from fault
    found = _read_fat_binary(source) if content.kind == "host-elf" else iter(content.targets)
    return tuple(sorted({target or UNREAD for target in found}))


def _read_fat_binary(source: ByteSource) -> Iterator[str]:
    try:
        elf = read_elf(source)
        section = find_fat_section(elf) if elf else None
        for bundle in find_bundles(source, section.offset, section.end) if section else ():
            if isinstance(bundle, Bundle):
                yield from (target_of(entry.id) for entry in bundle.entries if not is_host(entry.id))
            else:
                yield from list_targets(unpack_head(source, bundle.start, bundle.start + bundle.size_bytes))
    except RefusedError:
        yield UNREAD
