"""Arch → bit layouts of its instruction formats (AMD's ISA documents, chapter "Microcode Formats").

A layout says which bits a word must have to be of the format, how long it is, where its opcode is, and its fields
as name → (lowest bit, width). Fields of one name mean one thing in every generation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Fields = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One instruction format of one generation."""

    name: str
    prefix: tuple[int, int]  # value, number of top bits of the first dword that must equal it
    opcode: tuple[int, int]
    size: int  # bytes, without literal, DPP or SDWA dwords
    fields: Fields

    def matches(self, word: int) -> bool:
        """Whether a first dword is of this format."""
        value, bits = self.prefix
        return word >> (32 - bits) == value


def read_fields(text: str) -> Fields:
    """`vdst:0:8 clamp:15:1` → name → (lowest bit, width)."""
    parts = (item.split(":") for item in text.split())
    return {name: (int(low), int(width)) for name, low, width in parts}


def make_layout(name: str, prefix: str, opcode: tuple[int, int], size: int, fields: str) -> Layout:
    """A layout whose prefix is written as the document has it: a string of bits."""
    bits = (int(prefix, 2), len(prefix))
    return Layout(name=name, prefix=bits, opcode=opcode, size=size, fields=read_fields(fields))


VOP3 = "vdst:0:8 sdst:8:7 abs:8:3 op_sel:11:4 clamp:15:1 src0:32:9 src1:41:9 src2:50:9 omod:59:2 neg:61:3"
VOP3P = (
    "vdst:0:8 neg_hi:8:3 op_sel:11:3 op_sel_hi2:14:1 clamp:15:1 src0:32:9 src1:41:9 src2:50:9 op_sel_hi:59:2 neg:61:3 "
    "cbsz:8:3 abid:11:4 acc_cd:15:1 acc:59:2 blgp:61:3"  # the same bits in MFMA
)
VOPD = "srcx0:0:9 vsrcx1:9:8 opy:17:5 opx:22:4 srcy0:32:9 vsrcy1:41:8 vdsty:49:7 vdstx:56:8"
DS = "offset0:0:8 offset1:8:8 addr:32:8 data0:40:8 data1:48:8 vdst:56:8"

SDWA_FIELDS = read_fields(
    "dst_sel:8:3 dst_unused:11:2 clamp:13:1 omod:14:2 src0_sel:16:3 src0_sext:19:1 src0_neg:20:1 src0_abs:21:1 s0:23:1 "
    "src1_sel:24:3 src1_sext:27:1 src1_neg:28:1 src1_abs:29:1 s1:31:1 sdwa_sdst:8:8"
)
DPP_FIELDS = read_fields(
    "dpp_ctrl:8:9 fi:18:1 bound_ctrl:19:1 src0_neg:20:1 src0_abs:21:1 src1_neg:22:1 src1_abs:23:1 bank_mask:24:4 "
    "row_mask:28:4"
)
"""What the dword behind an instruction holds, src0's register aside."""

SCALAR = (  # the same in all generations, most specific prefix first
    make_layout("SOP1", "101111101", (8, 8), 4, "src0:0:8 sdst:16:7"),
    make_layout("SOPC", "101111110", (16, 7), 4, "src0:0:8 src1:8:8"),
    make_layout("SOPP", "101111111", (16, 7), 4, "simm16:0:16"),
    make_layout("SOPK", "1011", (23, 5), 4, "simm16:0:16 sdst:16:7"),
    make_layout("SOP2", "10", (23, 7), 4, "src0:0:8 src1:8:8 sdst:16:7"),
    make_layout("VOPC", "0111110", (17, 8), 4, "src0:0:9 src1:9:8"),
    make_layout("VOP1", "0111111", (9, 8), 4, "src0:0:9 vdst:17:8"),
    make_layout("VOP2", "0", (25, 6), 4, "src0:0:9 src1:9:8 vdst:17:8"),
)
GFX9 = (  # CDNA: gfx90a, gfx942, gfx950
    make_layout("VOP3P", "110100111", (16, 7), 8, VOP3P),
    make_layout("VOP3", "110100", (16, 10), 8, VOP3),
    make_layout("DS", "110110", (17, 8), 8, DS + " acc:25:1"),
    make_layout(
        "FLAT", "110111", (18, 7), 8,
        "offset:0:13 sve:13:1 segment:14:2 sc0:16:1 nt:17:1 sc1:25:1 addr:32:8 data:40:8 saddr:48:7 acc:55:1 vdst:56:8",
    ),
    make_layout(
        "MUBUF", "111000", (18, 7), 8,
        "offset:0:12 offen:12:1 idxen:13:1 sc0:14:1 sc1:15:1 lds:16:1 nt:17:1 vaddr:32:8 vdata:40:8 srsrc:48:5 "
        "acc:55:1 soffset:56:8",
    ),
    make_layout(
        "SMEM", "110000", (18, 8), 8,
        "sbase:0:6 sdata:6:7 soffset_en:14:1 glc:16:1 imm:17:1 offset:32:21 soffset:57:7",
    ),
    *SCALAR,
)  # fmt: skip
RDNA = (
    make_layout("VOPD", "110010", (22, 4), 8, VOPD),
    make_layout("VOP3P", "11001100", (16, 7), 8, VOP3P),
    make_layout("VOP3", "110101", (16, 10), 8, VOP3),
    make_layout("DS", "110110", (18, 8), 8, DS),
)
GFX11 = (  # RDNA3: gfx1100, gfx1101
    *RDNA,
    make_layout(
        "FLAT", "110111", (18, 7), 8,
        "offset:0:13 dlc:13:1 glc:14:1 slc:15:1 segment:16:2 addr:32:8 data:40:8 saddr:48:7 sve:55:1 vdst:56:8",
    ),
    make_layout(
        "MUBUF", "111000", (18, 8), 8,
        "offset:0:12 slc:12:1 dlc:13:1 glc:14:1 vaddr:32:8 vdata:40:8 srsrc:48:5 offen:54:1 idxen:55:1 soffset:56:8",
    ),
    make_layout("SMEM", "111101", (18, 8), 8, "sbase:0:6 sdata:6:7 dlc:13:1 glc:14:1 offset:32:21 soffset:57:7"),
    *SCALAR,
)  # fmt: skip
VECTOR_MEMORY = "saddr:0:7 vdst:32:8 sve:49:1 scope:50:2 th:52:3 data:55:8 addr:64:8 offset:72:24"
GFX12 = (  # RDNA4: gfx1200, gfx1201
    *RDNA,
    make_layout("FLAT", "11101100", (14, 8), 12, VECTOR_MEMORY),
    make_layout("SCRATCH", "11101101", (14, 8), 12, VECTOR_MEMORY),
    make_layout("GLOBAL", "11101110", (14, 8), 12, VECTOR_MEMORY),
    make_layout(
        "MUBUF", "110001", (14, 8), 12,
        "soffset:0:7 vdata:32:8 srsrc:41:9 scope:50:2 th:52:3 offen:62:1 idxen:63:1 vaddr:64:8 offset:72:24",
    ),
    make_layout("SMEM", "111101", (13, 6), 8, "sbase:0:6 sdata:6:7 scope:21:2 th:23:2 offset:32:24 soffset:57:7"),
    *SCALAR,
)  # fmt: skip


def layouts_of(generation: int) -> tuple[Layout, ...]:
    """The formats of a generation (9, 11 or 12), in the order in which they are tried."""
    return {9: GFX9, 11: GFX11, 12: GFX12}[generation]
