"""Code bytes → Instruction, by the bit layouts of formats.py and the opcode tables in opcodes/.

The tables are made from LLVM by tools/make_opcodes.py.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files

from gfxemu.arch import ARCHES, Arch
from gfxemu.formats import DPP_FIELDS, SDWA_FIELDS, Layout, layouts_of
from gfxemu.instruction import Instruction, Operand

LITERAL, SDWA, DPP16, DPP8, DPP8_FI = 255, 249, 250, 233, 234
VOPD_X = (
    "v_dual_fmac_f32",
    "v_dual_fmaak_f32",
    "v_dual_fmamk_f32",
    "v_dual_mul_f32",
    "v_dual_add_f32",
    "v_dual_sub_f32",
    "v_dual_subrev_f32",
    "v_dual_mul_dx9_zero_f32",
    "v_dual_mov_b32",
    "v_dual_cndmask_b32",
    "v_dual_max_f32",
    "v_dual_min_f32",
    "v_dual_dot2acc_f32_f16",
    "v_dual_dot2acc_f32_bf16",
)
VOPD_Y = (*VOPD_X, "", "", "v_dual_add_nc_u32", "v_dual_lshlrev_b32", "v_dual_and_b32")
SCALED_MFMA = 0x2C  # VOP3P opcode of v_mfma_ld_scale: the first half of a 16-byte instruction (CDNA4 ISA, VOP3PX2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A table row: `operands` are (field, kind, width) with kind v, a, s, h (16-bit VGPR), or text without a field."""

    mnemonic: str
    operands: tuple[tuple[str, str, int], ...]


def parse_operand(token: str) -> tuple[str, str, int]:
    """`vdst:v2` → ("vdst", "v", 2); `vcc` → ("", "vcc", 0)."""
    match = re.fullmatch(r"(\w+):([vsa])(h|\d+)", token)
    if not match:
        return "", token, 0
    return match[1], "h" if match[3] == "h" else match[2], 1 if match[3] == "h" else int(match[3])


@functools.cache
def read_table(name: str) -> Mapping[tuple[str, int], Row]:
    """One arch's opcode table."""
    rows = {}
    for line in files("gfxemu").joinpath("opcodes", f"{name}.txt").read_text("utf-8").splitlines():
        layout, opcode, mnemonic, *operands = line.split(" ")
        rows[layout, int(opcode, 16)] = Row(mnemonic=mnemonic, operands=tuple(map(parse_operand, operands)))
    return rows


def take(raw: int, place: tuple[int, int]) -> int:
    """Bits of a number: (lowest, width)."""
    return raw >> place[0] & ((1 << place[1]) - 1)


class Decoder:
    """Decodes one arch's code. Bytes that are no instruction become `unknown`, four bytes long."""

    def __init__(self, arch: Arch) -> None:
        self.arch = arch
        self.generation = arch.generation
        self.layouts = layouts_of(arch.generation)
        self.table = read_table(arch.table)

    def decode(self, code: bytes, address: int) -> Instruction:
        """The instruction at `address` of `code`."""
        window = code[address : address + 20]
        word = int.from_bytes(window[:4], "little")
        size = 4
        for layout in self.layouts:
            if layout.matches(word):
                if found := self.read(layout, window, address):
                    return found
                size = max(size, layout.size)
        words = struct.iter_unpack("<I", window[: min(size, len(window) // 4 * 4)])
        return Instruction(
            address=address,
            size=4,
            mnemonic="unknown",
            format="",
            generation=self.generation,
            fields={f"word{k}": value for k, (value,) in enumerate(words)},
        )

    def read(self, layout: Layout, window: bytes, address: int) -> Instruction | None:
        """The instruction, if the opcode is in the table and all its bytes are there."""
        raw = int.from_bytes(window[: layout.size], "little")
        if len(window) < layout.size:
            return None
        fields = {name: take(raw, place) for name, place in layout.fields.items()}
        opcode = take(raw, layout.opcode)
        if layout.name == "VOPD":
            return self.read_dual(fields, window, address)
        if layout.name == "VOP3P" and opcode == SCALED_MFMA and self.arch.name == "gfx950":
            return self.read_scaled(fields, window, address)
        name = layout.name
        if name == "FLAT" and "segment" in fields:
            name = ("FLAT", "SCRATCH", "GLOBAL", "")[fields["segment"]]
        row = self.table.get((name, opcode))
        if row is None:
            return None
        return self.finish(name, row, fields, window, layout.size, address)

    def finish(
        self, name: str, row: Row, fields: dict[str, int], window: bytes, size: int, address: int
    ) -> Instruction:
        """Extra dwords, operands, suffix."""
        extra = int.from_bytes(window[size : size + 4], "little")
        suffix = self.read_extra(name, row, fields, extra)
        if suffix is not None:
            size += 4
        mnemonic = add_suffix(row.mnemonic, name, suffix or "")
        if "mfma" in mnemonic or "smfmac" in mnemonic:
            fields["matrix"] = 1
            fields["sparse"] = int("smfmac" in mnemonic)
        operands = tuple(self.operands(name, row, fields))
        if "f8f6f4" in mnemonic:
            operands = tuple(fit_small(item, fields) for item in operands)
        return Instruction(
            address=address,
            size=size,
            mnemonic=mnemonic,
            format=name,
            generation=self.generation,
            fields=fields,
            operands=operands,
        )

    def read_extra(self, name: str, row: Row, fields: dict[str, int], extra: int) -> str | None:
        """Put what an SDWA, DPP or literal dword holds into `fields`; the suffix it means, None without one."""
        marker = fields.get("src0") if name.startswith("VOP") else None
        if marker == SDWA and self.generation == 9:
            fields |= {key: take(extra, place) for key, place in SDWA_FIELDS.items()} | {"vsrc0": extra & 255}
            return "_sdwa"
        if marker == DPP16:
            fields |= {key: take(extra, place) for key, place in DPP_FIELDS.items()} | {"vsrc0": extra & 255}
            return "_dpp"
        if marker in (DPP8, DPP8_FI) and self.generation >= 11:
            fields |= {"dpp8": extra >> 8, "vsrc0": extra & 255, "fi": int(marker == DPP8_FI)}
            return "_dpp"
        registers = ("src1",) if name in ("VOP2", "VOPC") else ()  # there, 255 is v255
        wants = any(fields.get(key) == LITERAL for key in ("src0", "src1", "src2") if key not in registers)
        wants |= name in ("VOP2", "SOP2") and any(kind == "i" for _, kind, _ in row.operands)
        if not wants and row.mnemonic != "s_setreg_imm32_b32":
            return None
        fields["literal"] = extra
        return ""

    def operands(self, name: str, row: Row, fields: Mapping[str, int]) -> Iterator[Operand]:
        """The row's operands with this instruction's registers."""
        if name == "SMEM":
            return self.scalar_memory(row, fields)
        return self.plain_operands(name, row, fields, self.half_fields(name, row))

    def half_fields(self, name: str, row: Row) -> frozenset[str]:
        """Fields that hold 16-bit registers: their number's top bit picks the half (gfx11 and gfx12, not in VOP3)."""
        if self.generation == 9 or name not in ("VOP1", "VOP2", "VOPC", "VOP3"):
            return frozenset()
        known = half_index().get((name, row.mnemonic))
        return known if known is not None else frozenset(f for f, kind, _ in row.operands if kind == "h")

    def plain_operands(
        self, name: str, row: Row, fields: Mapping[str, int], halves: frozenset[str]
    ) -> Iterator[Operand]:
        """Operands of everything but SMEM."""
        for field, kind, width in row.operands:
            if not field:
                yield from self.implied(kind, name, fields)
                continue
            yield self.one(name, field, kind, width, fields, halves)

    def implied(self, kind: str, name: str, fields: Mapping[str, int]) -> Iterator[Operand]:
        """What LLVM's text has without a field: vcc, literals, immediates."""
        if kind in ("vcc", "vcc_lo"):
            sdst = fields.get("sdwa_sdst", 0) if name == "VOPC" else 0
            code = sdst & 127 if sdst & 128 else 106
            yield Operand(field="vcc", kind="s", index=code, width=2 if kind == "vcc" else 1)
        elif kind in ("i", "-i") and "literal" in fields:
            yield Operand(field="literal", kind="literal", value=fields["literal"])
        elif kind == "-i":
            yield Operand(field="src0", kind="code", index=fields.get("src0", 128))

    def one(
        self, name: str, field: str, kind: str, width: int, fields: Mapping[str, int], halves: frozenset[str]
    ) -> Operand:
        """One register or source operand."""
        value = fields[field]
        if field == "src0" and "vsrc0" in fields:
            value = fields["vsrc0"] + (0 if fields.get("s0") else 256)
        elif field == "src1" and name in ("VOP2", "VOPC"):
            value += 0 if fields.get("s1") else 256
        elif (field == "src0" and name.startswith("VOP")) or field in ("src1", "src2"):
            pass
        elif kind in "vah":
            value += 256
        elif field == "sbase":
            value *= 2
        elif field == "srsrc" and self.generation < 12:
            value *= 4
        if value == LITERAL and "literal" in fields:
            return Operand(field=field, kind="literal", value=fields["literal"], width=width)
        if value < 256:
            return Operand(field=field, kind="s" if value < 128 else "code", index=value, width=width)
        index = value - 256
        half = self.half_of(name, field, index, fields) if field in halves else ""
        if half and name != "VOP3":
            index &= 127
        return Operand(
            field=field,
            kind="a" if self.is_accumulator(name, field, kind, fields) else "v",
            index=index,
            width=width,
            half=half,
        )

    def half_of(self, name: str, field: str, index: int, fields: Mapping[str, int]) -> str:
        """`l` or `h`: op_sel in VOP3, the top bit of the number elsewhere."""
        if name != "VOP3":
            return "h" if index & 128 else "l"
        bit = {"src0": 0, "src1": 1, "src2": 2, "vdst": 3}[field]
        return "h" if fields["op_sel"] >> bit & 1 else "l"

    def is_accumulator(self, name: str, field: str, kind: str, fields: Mapping[str, int]) -> bool:
        """Whether a vector field names an AGPR."""
        if self.generation != 9 or name in ("VOP1", "VOP2", "VOP3", "VOPC"):
            return kind == "a"
        if name == "VOP3P":
            if not fields.get("matrix"):
                return kind == "a"
            if field == "src2" and fields.get("sparse"):  # which elements are not zero: always in a VGPR
                return False
            return bool(fields["acc"] >> int(field == "src1") & 1 if field in ("src0", "src1") else fields["acc_cd"])
        return field in ("vdst", "vdata", "data", "data0", "data1") and bool(fields.get("acc"))

    def scalar_memory(self, row: Row, fields: Mapping[str, int]) -> Iterator[Operand]:
        """SMEM: widths follow from the mnemonic."""
        match = re.search(r"_load_(?:dword(?:x(\d+))?|b(\d+)|[iu](?:8|16))$", row.mnemonic)
        if match:
            width = int(match[1] or 0) or int(match[2] or 32) // 32
            yield Operand(field="sdata", kind="s", index=fields["sdata"], width=width)
            yield Operand(
                field="sbase", kind="s", index=fields["sbase"] * 2, width=4 if "buffer" in row.mnemonic else 2
            )
        elif row.mnemonic in ("s_memtime", "s_memrealtime"):
            yield Operand(field="sdata", kind="s", index=fields["sdata"], width=2)

    def read_scaled(self, scale: dict[str, int], window: bytes, address: int) -> Instruction | None:
        """gfx950's v_mfma_scale: the scales' dwords, then the multiply's."""
        if len(window) < 16:
            return None
        raw = int.from_bytes(window[8:16], "little")
        layout = next(item for item in self.layouts if item.name == "VOP3P")
        fields = {name: take(raw, place) for name, place in layout.fields.items()}
        row = self.table.get(("VOP3P", take(raw, layout.opcode)))
        if row is None or "f8f6f4" not in row.mnemonic:
            return None
        fields["matrix"] = 1
        operands = [fit_small(item, fields) for item in self.operands("VOP3P", row, fields)]
        for key, name in (("src0", "scale0"), ("src1", "scale1")):
            code = scale[key]
            operands.append(
                Operand(field=name, kind="v", index=code - 256)
                if code >= 256
                else Operand(field=name, kind="s" if code < 128 else "code", index=code)
            )
        fields |= {"scale_op_sel": scale["op_sel"], "scale_op_sel_hi": scale["op_sel_hi"]}
        return Instruction(
            address=address,
            size=16,
            mnemonic=row.mnemonic.replace("v_mfma_", "v_mfma_scale_"),
            format="VOP3P",
            generation=self.generation,
            fields=fields,
            operands=tuple(operands),
        )

    def read_dual(self, fields: dict[str, int], window: bytes, address: int) -> Instruction | None:
        """VOPD (RDNA3 ISA §15.? "VOPD"): two instructions that read before either writes."""
        if fields["opx"] >= len(VOPD_X) or fields["opy"] >= len(VOPD_Y):
            return None
        names = VOPD_X[fields["opx"]], VOPD_Y[fields["opy"]]
        literal = int.from_bytes(window[8:12], "little")
        needs = LITERAL in (fields["srcx0"], fields["srcy0"]) or any("fmaak" in n or "fmamk" in n for n in names)
        size = 12 if needs else 8
        vdsty = fields["vdsty"] << 1 | (fields["vdstx"] & 1 ^ 1)
        parts = tuple(
            self.dual_half(name, fields[f"src{axis}0"], fields[f"vsrc{axis}1"], vdst, literal, address)
            for name, axis, vdst in ((names[0], "x", fields["vdstx"]), (names[1], "y", vdsty))
        )
        return Instruction(
            address=address,
            size=size,
            mnemonic=f"{parts[0].mnemonic} :: {parts[1].mnemonic}",
            format="VOPD",
            generation=self.generation,
            fields=fields,
            parts=parts,
        )

    def dual_half(self, name: str, src0: int, src1: int, vdst: int, literal: int, address: int) -> Instruction:
        """One half of a VOPD instruction."""
        if self.generation == 12:
            name = name.replace("_max_f32", "_max_num_f32").replace("_min_f32", "_min_num_f32")
        first = (
            Operand(field="src0", kind="literal", value=literal)
            if src0 == LITERAL
            else Operand(field="src0", kind="v", index=src0 - 256)
            if src0 >= 256
            else Operand(field="src0", kind="s" if src0 < 128 else "code", index=src0)
        )
        operands = [Operand(field="vdst", kind="v", index=vdst), first]
        if "mov_b32" not in name:
            operands.append(Operand(field="src1", kind="v", index=src1))
        if "fmaak" in name or "fmamk" in name:
            operands.insert(2 if "fmamk" in name else 3, Operand(field="literal", kind="literal", value=literal))
        if "cndmask" in name:
            operands.append(Operand(field="vcc", kind="s", index=106))
        return Instruction(
            address=address, size=0, mnemonic=name, format="VOPD", generation=self.generation, operands=tuple(operands)
        )


def add_suffix(mnemonic: str, name: str, suffix: str) -> str:
    """`v_add_f32_e32` with _dpp → `v_add_f32_dpp`; in VOP3, `_e64_dpp`."""
    if not suffix:
        return mnemonic
    out = re.sub(r"_e(32|64)$", lambda match: ("_e64" if match[1] == "64" else "") + suffix, mnemonic)
    return out if out.endswith(suffix) else out + ("_e64" if name == "VOP3" else "") + suffix


def fit_small(item: Operand, fields: Mapping[str, int]) -> Operand:
    """A or B of an f8f6f4 instruction with as many registers as its format (cbsz, blgp) has."""
    width = {"src0": fields["cbsz"], "src1": fields["blgp"]}.get(item.field)
    return item if width is None else dataclasses.replace(item, width=(8, 8, 6, 6, 4, 8, 8, 8)[width])


@functools.cache
def half_index() -> Mapping[tuple[str, str], frozenset[str]]:
    """(format, mnemonic) → fields that are 16-bit registers, from gfx1100's table, where LLVM shows them."""
    out: dict[tuple[str, str], frozenset[str]] = {}
    for (name, _), row in read_table("gfx1100").items():
        halves = frozenset(field for field, kind, _ in row.operands if kind == "h")
        for mnemonic in {row.mnemonic, row.mnemonic.replace("_max_", "_max_num_").replace("_min_", "_min_num_")}:
            out[name, mnemonic] = halves
    return out


@functools.cache
def decoder_of(name: str) -> Decoder:
    """The decoder of an arch by LLVM's name."""
    return Decoder(ARCHES[name])


@functools.lru_cache(maxsize=64)
def decode_all(code: bytes, arch: str) -> tuple[Instruction, ...]:
    """Every instruction of a code section, one behind the other; the last sections are kept."""
    decoder, address, out = decoder_of(arch), 0, []
    while address < len(code):
        out.append(decoder.decode(code, address))
        address += out[-1].size
    return tuple(out)
