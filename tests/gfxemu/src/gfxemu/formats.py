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


VOP3_FIELDS: Fields = {
    "vdst": (0, 8),
    "sdst": (8, 7),
    "abs": (8, 3),
    "op_sel": (11, 4),
    "clamp": (15, 1),
    "src0": (32, 9),
    "src1": (41, 9),
    "src2": (50, 9),
    "omod": (59, 2),
    "neg": (61, 3),
}
VOP3P_FIELDS: Fields = {
    "vdst": (0, 8),
    "neg_hi": (8, 3),
    "op_sel": (11, 3),
    "op_sel_hi2": (14, 1),
    "clamp": (15, 1),
    "src0": (32, 9),
    "src1": (41, 9),
    "src2": (50, 9),
    "op_sel_hi": (59, 2),
    "neg": (61, 3),
    "cbsz": (8, 3),
    "abid": (11, 4),
    "acc_cd": (15, 1),
    "acc": (59, 2),
    "blgp": (61, 3),
}
VOPD_FIELDS: Fields = {
    "srcx0": (0, 9),
    "vsrcx1": (9, 8),
    "opy": (17, 5),
    "opx": (22, 4),
    "srcy0": (32, 9),
    "vsrcy1": (41, 8),
    "vdsty": (49, 7),
    "vdstx": (56, 8),
}


def scalar_layouts() -> tuple[Layout, ...]:
    """The formats that are the same in all generations, most specific prefix first."""
    return (
        Layout(name="SOP1", prefix=(0b101111101, 9), opcode=(8, 8), size=4, fields={"src0": (0, 8), "sdst": (16, 7)}),
        Layout(name="SOPC", prefix=(0b101111110, 9), opcode=(16, 7), size=4, fields={"src0": (0, 8), "src1": (8, 8)}),
        Layout(name="SOPP", prefix=(0b101111111, 9), opcode=(16, 7), size=4, fields={"simm16": (0, 16)}),
        Layout(name="SOPK", prefix=(0b1011, 4), opcode=(23, 5), size=4, fields={"simm16": (0, 16), "sdst": (16, 7)}),
        Layout(
            name="SOP2",
            prefix=(0b10, 2),
            opcode=(23, 7),
            size=4,
            fields={"src0": (0, 8), "src1": (8, 8), "sdst": (16, 7)},
        ),
        Layout(name="VOPC", prefix=(0b0111110, 7), opcode=(17, 8), size=4, fields={"src0": (0, 9), "src1": (9, 8)}),
        Layout(name="VOP1", prefix=(0b0111111, 7), opcode=(9, 8), size=4, fields={"src0": (0, 9), "vdst": (17, 8)}),
        Layout(
            name="VOP2", prefix=(0, 1), opcode=(25, 6), size=4, fields={"src0": (0, 9), "src1": (9, 8), "vdst": (17, 8)}
        ),
    )


def gfx9_layouts() -> tuple[Layout, ...]:
    """CDNA: gfx90a, gfx942, gfx950."""
    flat = {
        "offset": (0, 13),
        "sve": (13, 1),
        "segment": (14, 2),
        "sc0": (16, 1),
        "nt": (17, 1),
        "sc1": (25, 1),
        "addr": (32, 8),
        "data": (40, 8),
        "saddr": (48, 7),
        "acc": (55, 1),
        "vdst": (56, 8),
    }
    buffer = {
        "offset": (0, 12),
        "offen": (12, 1),
        "idxen": (13, 1),
        "sc0": (14, 1),
        "sc1": (15, 1),
        "lds": (16, 1),
        "nt": (17, 1),
        "vaddr": (32, 8),
        "vdata": (40, 8),
        "srsrc": (48, 5),
        "acc": (55, 1),
        "soffset": (56, 8),
    }
    return (
        Layout(name="VOP3P", prefix=(0b110100111, 9), opcode=(16, 7), size=8, fields=VOP3P_FIELDS),
        Layout(name="VOP3", prefix=(0b110100, 6), opcode=(16, 10), size=8, fields=VOP3_FIELDS),
        Layout(
            name="DS",
            prefix=(0b110110, 6),
            opcode=(17, 8),
            size=8,
            fields={
                "offset0": (0, 8),
                "offset1": (8, 8),
                "acc": (25, 1),
                "addr": (32, 8),
                "data0": (40, 8),
                "data1": (48, 8),
                "vdst": (56, 8),
            },
        ),
        Layout(name="FLAT", prefix=(0b110111, 6), opcode=(18, 7), size=8, fields=flat),
        Layout(name="MUBUF", prefix=(0b111000, 6), opcode=(18, 7), size=8, fields=buffer),
        Layout(
            name="SMEM",
            prefix=(0b110000, 6),
            opcode=(18, 8),
            size=8,
            fields={
                "sbase": (0, 6),
                "sdata": (6, 7),
                "soffset_en": (14, 1),
                "glc": (16, 1),
                "imm": (17, 1),
                "offset": (32, 21),
                "soffset": (57, 7),
            },
        ),
        *scalar_layouts(),
    )


def gfx11_layouts() -> tuple[Layout, ...]:
    """RDNA3: gfx1100, gfx1101."""
    flat = {
        "offset": (0, 13),
        "dlc": (13, 1),
        "glc": (14, 1),
        "slc": (15, 1),
        "segment": (16, 2),
        "addr": (32, 8),
        "data": (40, 8),
        "saddr": (48, 7),
        "sve": (55, 1),
        "vdst": (56, 8),
    }
    buffer = {
        "offset": (0, 12),
        "slc": (12, 1),
        "dlc": (13, 1),
        "glc": (14, 1),
        "vaddr": (32, 8),
        "vdata": (40, 8),
        "srsrc": (48, 5),
        "offen": (54, 1),
        "idxen": (55, 1),
        "soffset": (56, 8),
    }
    return (
        Layout(name="VOPD", prefix=(0b110010, 6), opcode=(22, 4), size=8, fields=VOPD_FIELDS),
        Layout(name="VOP3P", prefix=(0b11001100, 8), opcode=(16, 7), size=8, fields=VOP3P_FIELDS),
        Layout(name="VOP3", prefix=(0b110101, 6), opcode=(16, 10), size=8, fields=VOP3_FIELDS),
        Layout(
            name="DS",
            prefix=(0b110110, 6),
            opcode=(18, 8),
            size=8,
            fields={
                "offset0": (0, 8),
                "offset1": (8, 8),
                "addr": (32, 8),
                "data0": (40, 8),
                "data1": (48, 8),
                "vdst": (56, 8),
            },
        ),
        Layout(name="FLAT", prefix=(0b110111, 6), opcode=(18, 7), size=8, fields=flat),
        Layout(name="MUBUF", prefix=(0b111000, 6), opcode=(18, 8), size=8, fields=buffer),
        Layout(
            name="SMEM",
            prefix=(0b111101, 6),
            opcode=(18, 8),
            size=8,
            fields={
                "sbase": (0, 6),
                "sdata": (6, 7),
                "dlc": (13, 1),
                "glc": (14, 1),
                "offset": (32, 21),
                "soffset": (57, 7),
            },
        ),
        *scalar_layouts(),
    )


def gfx12_layouts() -> tuple[Layout, ...]:
    """RDNA4: gfx1200, gfx1201."""
    memory = {
        "saddr": (0, 7),
        "vdst": (32, 8),
        "sve": (49, 1),
        "scope": (50, 2),
        "th": (52, 3),
        "data": (55, 8),
        "addr": (64, 8),
        "offset": (72, 24),
    }
    buffer = {
        "soffset": (0, 7),
        "vdata": (32, 8),
        "srsrc": (41, 9),
        "scope": (50, 2),
        "th": (52, 3),
        "offen": (62, 1),
        "idxen": (63, 1),
        "vaddr": (64, 8),
        "offset": (72, 24),
    }
    base = {layout.name: layout for layout in gfx11_layouts()}
    return (
        base["VOPD"],
        base["VOP3P"],
        base["VOP3"],
        base["DS"],
        Layout(name="FLAT", prefix=(0xEC, 8), opcode=(14, 8), size=12, fields=memory),
        Layout(name="SCRATCH", prefix=(0xED, 8), opcode=(14, 8), size=12, fields=memory),
        Layout(name="GLOBAL", prefix=(0xEE, 8), opcode=(14, 8), size=12, fields=memory),
        Layout(name="MUBUF", prefix=(0b110001, 6), opcode=(14, 8), size=12, fields=buffer),
        Layout(
            name="SMEM",
            prefix=(0b111101, 6),
            opcode=(13, 6),
            size=8,
            fields={
                "sbase": (0, 6),
                "sdata": (6, 7),
                "scope": (21, 2),
                "th": (23, 2),
                "offset": (32, 24),
                "soffset": (57, 7),
            },
        ),
        *scalar_layouts(),
    )


def layouts_of(generation: int) -> tuple[Layout, ...]:
    """The formats of a generation (9, 11 or 12), in the order in which they are tried."""
    return {9: gfx9_layouts, 11: gfx11_layouts, 12: gfx12_layouts}[generation]()
