"""Faults found one by one → Verification; and the comparison of two bundles, which both kinds of files need."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError

from rockiln.fatbin.entry_ids import serves
from rockiln.fatbin.verify.objects import Objects, find_kernels, is_equal

_MAX_FAULTS = 20
UNREADABLE = (
    ELFError, ConstructError, ValueError, LookupError, struct.error, OverflowError, AssertionError, AttributeError,
    TypeError,
)  # fmt: skip
"""What pyelftools raises for damaged files: it asserts, and takes one kind of section for another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The new file is proven where `faults` is empty; the numbers say what was looked at."""

    faults: tuple[str, ...]
    wrappers: int = 0
    kept_objects: int = 0
    dropped_objects: int = 0
    kernels: int = 0


class Counts:
    """Sums while bundles are compared."""

    def __init__(self) -> None:
        self.wrappers = self.kept_objects = self.dropped_objects = self.kernels = 0


def collect_faults(find: Callable[[Counts], Iterator[str]]) -> Verification:
    """The first faults that `find` tells; a file that cannot be read is one."""
    counts = Counts()
    faults: list[str] = []
    try:
        for fault in find(counts):
            faults.append(fault)
            if len(faults) >= _MAX_FAULTS:
                break
    except UNREADABLE as fault:
        faults.append(f"the file cannot be read: {fault!r}")
    return Verification(
        faults=tuple(faults), wrappers=counts.wrappers, kept_objects=counts.kept_objects,
        dropped_objects=counts.dropped_objects, kernels=counts.kernels,
    )  # fmt: skip


def compare_bundles(old: Objects, new: Objects, archs: AbstractSet[str], counts: Counts) -> Iterator[str]:
    """Does the new bundle hold what serves `archs`, in the old order and byte for byte, and nothing else?"""
    wanted = [name for name in old if serves(name, archs)]
    if list(new) != wanted:
        yield f"a bundle holds {sorted(new)}, not {sorted(wanted)}"
        return
    counts.dropped_objects += len(old) - len(wanted)
    for name in wanted:
        if not is_equal(old[name], new[name]):
            yield f"code object {name} differs"
        elif new[name].size_bytes:
            counts.kept_objects += 1
            counts.kernels += len(find_kernels(new[name]))
