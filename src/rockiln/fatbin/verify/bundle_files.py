"""Old bundle file, new one, archs → Verification: the same proof for a bundle that lies outside of an ELF file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from rockiln.fatbin.verify.objects import Objects, open_bundle_at
from rockiln.fatbin.verify.verification import Counts, Verification, collect_faults, compare_bundles

_ALIGN_BYTES = 4096
_HEADER_BYTES = 8
"""Magic, version and method of a compressed bundle: the new one has the old one's."""


def verify_bundle_files(old: int, new: int, archs: AbstractSet[str]) -> Verification:
    """Compare two open files, given as descriptors, each of which is one bundle and nothing else."""

    def find(counts: Counts) -> Iterator[str]:
        before, after = os.fstat(old).st_size, os.fstat(new).st_size
        if os.pread(old, 4, 0) == b"CCOB" and os.pread(old, _HEADER_BYTES, 0) != os.pread(new, _HEADER_BYTES, 0):
            yield "the bundle is compressed in another way"
        elif os.pread(old, 4, 0) != os.pread(new, 4, 0):
            yield "one bundle is compressed, the other is not"
        with open_bundle_at(old, 0, before) as one, open_bundle_at(new, 0, after) as other:
            yield from _find_layout_faults(other)
            yield from compare_bundles(one, other, archs, counts)
        if after > before:
            yield "the new file is larger"

    return collect_faults(find)


def _find_layout_faults(objects: Objects) -> Iterator[str]:
    """Code objects are mapped, so each begins on a page of its bundle; they do not overlap."""
    end = 0
    for one in sorted(objects.values(), key=lambda one: one.offset):
        if one.size_bytes and one.offset % _ALIGN_BYTES:
            yield f"code object {one.id} is not on a page"
        if one.size_bytes and one.offset < end:
            yield f"code object {one.id} overlaps the one before"
        end = max(end, one.offset + one.size_bytes)
