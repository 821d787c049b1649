"""Id of a bundle's entry + the archs to keep → kept or not. Whatever is not understood is kept.

An id is KIND-TRIPLE-TARGET, as `hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-` or `host-x86_64-unknown-linux-gnu-`:
https://clang.llvm.org/docs/ClangOffloadBundler.html#bundle-entry-id.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

GENERICS = {
    "gfx9-generic": frozenset({"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"}),
    "gfx9-4-generic": frozenset({"gfx940", "gfx941", "gfx942", "gfx950"}),
    "gfx10-1-generic": frozenset({"gfx1010", "gfx1011", "gfx1012", "gfx1013"}),
    "gfx10-3-generic": frozenset({"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"}),
    "gfx11-generic": frozenset({
        "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153",
    }),
    "gfx12-generic": frozenset({"gfx1200", "gfx1201"}),
}  # fmt: skip
"""Generic target → the archs that run its code: https://llvm.org/docs/AMDGPUUsage.html#amdgpu-generic-processor-table."""

_HIP_ID = re.compile(r"hip(?:v4)?-amdgcn-amd-amdhsa-(?:(?!gfx)[a-z0-9]*-)?(?P<target>gfx[^-:]+(?:-[^:]+)?(?::.+)?)")
_ARCH = re.compile(r"gfx[0-9]{1,2}[0-9a-f]{2}")


def target_of(entry_id: str) -> str:
    """`gfx90a:xnack+` of a HIP code object's id; "" for host entries and for everything else."""
    matched = _HIP_ID.fullmatch(entry_id)
    return matched["target"] if matched else ""


def is_host(entry_id: str) -> bool:
    """A host entry is a placeholder: it holds no bytes."""
    return entry_id.startswith("host-")


def serves(entry_id: str, archs: AbstractSet[str]) -> bool:
    """Keep this entry? Yes, unless it is code for one GPU, or one known family, with none of `archs` in it."""
    processor = target_of(entry_id).partition(":")[0]
    if processor in GENERICS:
        return bool(GENERICS[processor] & archs)
    return processor in archs or not _ARCH.fullmatch(processor)
