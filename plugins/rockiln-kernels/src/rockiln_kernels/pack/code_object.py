"""hsaco bytes and their listing → CodeFacts: registers, spills, kernarg layout, occupancy, matrix instructions.

The layout of the note is in LLVM's AMDGPU usage page, "Code Object V5 Metadata".
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_NOTE_TYPE = 32  # NT_AMDGPU_METADATA
_MATRIX = re.compile(r"^\s+(v_(?:mfma|smfmac|wmma|swmmac)\w*)", re.MULTILINE)
_OCCUPANCY = re.compile(r"^; Occupancy: (\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernargSlot:
    """One argument as the code object states it."""

    offset: int
    size_bytes: int
    value_kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFacts:
    """What a code object and the compiler's listing say of its only kernel."""

    symbol: str
    kernarg_bytes: int
    slots: tuple[KernargSlot, ...]
    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    scratch_bytes: int
    occupancy: int
    matrix_instructions: Mapping[str, int]


def read_code_facts(hsaco: bytes, listing: str) -> CodeFacts:
    """The facts of a code object with one kernel. Raises ValueError if it has none or several."""
    kernels = _read_note(hsaco).get("amdhsa.kernels", [])
    if len(kernels) != 1:
        raise ValueError(f"the code object has {len(kernels)} kernels, not one")
    kernel = kernels[0]
    occupancy = _OCCUPANCY.search(listing)
    return CodeFacts(
        symbol=kernel[".name"],
        kernarg_bytes=kernel[".kernarg_segment_size"],
        slots=tuple(
            KernargSlot(offset=arg[".offset"], size_bytes=arg[".size"], value_kind=arg[".value_kind"])
            for arg in kernel[".args"]
        ),
        vgprs=kernel[".vgpr_count"],
        agprs=kernel.get(".agpr_count", 0),
        sgprs=kernel[".sgpr_count"],
        vgpr_spills=kernel[".vgpr_spill_count"],
        sgpr_spills=kernel[".sgpr_spill_count"],
        scratch_bytes=kernel[".private_segment_fixed_size"],
        occupancy=int(occupancy[1]) if occupancy else 0,
        matrix_instructions=dict(sorted(Counter(_MATRIX.findall(listing)).items())),
    )


def _read_note(hsaco: bytes) -> Mapping[str, Any]:
    import msgpack
    from elftools.elf.elffile import ELFFile
    from elftools.elf.segments import NoteSegment

    for segment in ELFFile(io.BytesIO(hsaco)).iter_segments():
        notes: list[Any] = list(segment.iter_notes()) if isinstance(segment, NoteSegment) else []
        for note in notes:
            if note["n_name"] == "AMDGPU" and note["n_type"] == _NOTE_TYPE:
                tree: Mapping[str, Any] = msgpack.unpackb(note["n_descdata"])
                return tree
    raise ValueError("the code object has no AMDGPU metadata note")
