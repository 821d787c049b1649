"""A `.hip_fatbin` section → the bundles in it, one after the other, raw and compressed, with zeros between them."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln.fatbin import bundle, compressed
from rockiln.fatbin.bundle import Bundle, read_bundle
from rockiln.fatbin.byte_source import ByteSource
from rockiln.fatbin.compressed import CompressedBundle, read_compressed
from rockiln.fatbin.refusal import RefusedError

AnyBundle = Bundle | CompressedBundle


def find_bundles(source: ByteSource, start: int, end: int) -> tuple[AnyBundle, ...]:
    """All bundles from offset `start` to `end`. Raises RefusedError where something else is in between."""
    return tuple(_walk(source, start, end))


def _walk(source: ByteSource, start: int, end: int) -> Iterator[AnyBundle]:
    section_start = start
    while (start := source.skip_zeros(start, end)) < end:
        found = _read_any(source, start, end, section_start)
        yield found
        start = found.start + found.size_bytes


def _read_any(source: ByteSource, start: int, end: int, section_start: int) -> AnyBundle:
    head = source.read(start, min(len(bundle.MAGIC), end - start))
    if head == bundle.MAGIC:
        return read_bundle(source, start, end)
    if head.startswith(compressed.MAGIC):
        return read_compressed(source, start, end)
    raise RefusedError(f"unknown bytes at {start - section_start:#x} in .hip_fatbin")
