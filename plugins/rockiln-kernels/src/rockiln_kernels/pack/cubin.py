"""cubin bytes and their PTX → CodeFacts. Registers are as .nv.info has them; spills are not stated, and count as none.

PTX's .param rules are in NVIDIA's PTX ISA, "Kernel Function Parameters".
"""

from __future__ import annotations

import io
import re
from collections import Counter

from rockiln_kernels.pack.code_object import CodeFacts, KernargSlot

_ENTRY = re.compile(r"\.visible \.entry (\w+)\((.*?)\)", re.DOTALL)
_PARAM = re.compile(r"\.param \.([a-z]+)(\d+)( \.ptr)?")
_MATRIX = re.compile(r"^\s+(wgmma\.mma_async|mma\.sync)", re.MULTILINE)
_FULL_OCCUPANCY = 16
"""Warps a scheduler: what registers allow is left to the card's own tools."""


def read_cubin_facts(cubin: bytes, ptx: str) -> CodeFacts:
    """The facts of a cubin with one kernel. Raises ValueError if the PTX has none."""
    entry = _ENTRY.search(ptx)
    if entry is None:
        raise ValueError("the PTX has no entry")
    slots: list[KernargSlot] = []
    end = 0
    for _, bits, is_pointer in _PARAM.findall(entry[2]):
        size = int(bits) // 8
        start = -(-end // size) * size
        kind = "global_buffer" if is_pointer else "by_value"
        slots.append(KernargSlot(offset=start, size_bytes=size, value_kind=kind))
        end = start + size
    return CodeFacts(
        symbol=entry[1],
        kernarg_bytes=end,
        slots=tuple(slots),
        vgprs=_read_registers(cubin),
        agprs=0,
        sgprs=0,
        vgpr_spills=0,
        sgpr_spills=0,
        scratch_bytes=0,
        occupancy=_FULL_OCCUPANCY,
        matrix_instructions=dict(sorted(Counter(_MATRIX.findall(ptx)).items())),
    )


def _read_registers(cubin: bytes) -> int:
    """EIATTR_REGCOUNT of the section .nv.info: format 4, attribute 0x2F, 8 bytes, a symbol's index and the count."""
    from elftools.elf.elffile import ELFFile

    section = ELFFile(io.BytesIO(cubin)).get_section_by_name(".nv.info")
    content = section.data() if section is not None else b""
    start = content.find(b"\x04\x2f\x08\x00")
    return int.from_bytes(content[start + 8 : start + 12], "little") if start >= 0 else 0
