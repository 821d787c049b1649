"""A decoded instruction → one line as LLVM's disassembler writes it, modifiers included.

Waits, delays, messages and hardware registers show their immediate as a number.
"""

from __future__ import annotations

from collections.abc import Iterator

from gfxemu.instruction import Instruction, Operand

OMOD = {1: "mul:2", 2: "mul:4", 3: "div:2"}
SELECTS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")
SOURCES = {"src0": 0, "src1": 1, "src2": 2}


def write_text(i: Instruction) -> str:
    """Mnemonic, operands, modifiers."""
    if i.parts:
        return " :: ".join(write_text(part) for part in i.parts)
    if i.mnemonic == "unknown":
        return " ".join(("unknown", *(f"{word:#010x}" for word in i.fields.values())))
    operands = ", ".join(write_operands(i))
    return " ".join(item for item in (i.mnemonic, operands, *write_modifiers(i)) if item)


def write_operands(i: Instruction) -> Iterator[str]:
    """The operands in LLVM's order."""
    if i.format in ("FLAT", "GLOBAL", "SCRATCH"):
        yield from write_flat(i)
        return
    if i.format == "MUBUF":
        yield from write_buffer(i)
        return
    if i.mnemonic.startswith("s_setreg"):
        yield f"{i.fields['simm16']:#x}"
        yield i.operands[-1].text(i.generation)
        return
    for item in i.operands:
        if i.format != "VOPD" or item.field != "vcc":
            yield write_source(i, item)
    if i.mnemonic.startswith("s_sendmsg_rtn"):  # the message stands where others have a source
        yield f"{i.fields['src0']:#x}"
    if i.format == "SMEM" and i.operand("sbase"):
        yield from write_scalar_offset(i)
    if i.format in ("SOPP", "SOPK") and "literal" not in i.fields:
        yield from write_immediate(i)


def write_immediate(i: Instruction) -> Iterator[str]:
    """SOPP's and SOPK's 16 bits."""
    simm = i.fields["simm16"]
    if i.mnemonic not in ("s_endpgm", "s_barrier", "s_code_end", "s_barrier_leave", "s_wait_idle"):
        yield f"{simm:#x}"


def write_source(i: Instruction, item: Operand) -> str:
    """An operand with its sign modifiers."""
    text = item.text(i.generation)
    bit = SOURCES.get(item.field)
    if bit is None or i.mnemonic.startswith("v_bitop3"):
        return text
    if i.format == "VOP3P":
        return write_mixed(i, text, bit) if "fma_mix" in i.mnemonic else text
    has_sdst = i.operand("sdst") is not None and i.format == "VOP3"
    negative = i.fields.get("neg", 0) >> bit & 1 | i.fields.get(f"{item.field}_neg", 0)
    absolute = 0 if has_sdst else i.fields.get("abs", 0) >> bit & 1 | i.fields.get(f"{item.field}_abs", 0)
    if i.fields.get(f"{item.field}_sext") and i.mnemonic.endswith("_sdwa"):
        text = f"sext({text})"
    text = f"|{text}|" if absolute else text
    return f"-{text}" if negative else text


def write_mixed(i: Instruction, text: str, bit: int) -> str:
    """A source of v_fma_mix*, whose neg_hi means a magnitude."""
    text = f"|{text}|" if i.fields["neg_hi"] >> bit & 1 else text
    return f"-{text}" if i.fields["neg"] >> bit & 1 else text


def vector(i: Instruction, field: str, width: int, *, data: bool = True) -> str:
    """A vector register of a memory instruction."""
    kind = "a" if data and i.fields.get("acc") else "v"
    return Operand(field=field, kind=kind, index=i.fields[field], width=width).text(i.generation)


def write_flat(i: Instruction) -> Iterator[str]:
    """FLAT, GLOBAL, SCRATCH: destination, address, data, scalar base."""
    f = i.fields
    off = f["saddr"] == (0x7F if i.generation == 9 else 124)
    returns = "atomic" in i.mnemonic and (f.get("sc0") or f.get("glc") or f.get("th", 0) & 1)
    data = i.operand("data")
    destination = i.operand("vdst")
    if destination is not None or returns:
        width = destination.width if destination else data.width // (2 if "cmpswap" in i.mnemonic else 1) if data else 1
        yield vector(i, "vdst", width)
    if i.format == "SCRATCH":
        uses = f["sve"] if i.generation != 9 or "lds" not in f else 0
        yield vector(i, "addr", 1, data=False) if uses else "off"
    elif i.operands:
        yield vector(i, "addr", 2 if off or i.format == "FLAT" else 1, data=False)
    if data is not None:
        yield vector(i, "data", data.width)
    if i.format != "FLAT" and i.operands:
        base = Operand(field="saddr", kind="s", index=f["saddr"], width=1 if i.format == "SCRATCH" else 2)
        yield "off" if off else base.text(i.generation)


def write_buffer(i: Instruction) -> Iterator[str]:
    """MUBUF: data, address, resource, scalar offset."""
    f = i.fields
    data, resource, scalar = i.operand("vdata"), i.operand("srsrc"), i.operand("soffset")
    if data is None or resource is None or scalar is None:
        return
    yield vector(i, "vdata", data.width)
    yield vector(i, "vaddr", f["offen"] + f["idxen"], data=False) if f["offen"] or f["idxen"] else "off"
    yield resource.text(i.generation)
    yield scalar.text(i.generation)


def write_scalar_offset(i: Instruction) -> Iterator[str]:
    """SMEM's offset: an immediate, a scalar, or both."""
    f = i.fields
    bits = 24 if i.generation == 12 else 21
    offset = f["offset"] - (1 << bits) if f["offset"] >> (bits - 1) else f["offset"]
    uses = (f["soffset_en"] or not f["imm"]) if i.generation == 9 else f["soffset"] != 124
    if not uses:
        yield f"{offset:#x}" if i.generation == 9 or offset else "null" if i.generation == 11 else "0x0"
        return
    scalar = f["soffset"] if i.generation != 9 or f["soffset_en"] else f["offset"] & 127
    text = Operand(field="soffset", kind="s", index=scalar).text(i.generation)
    yield f"{text} offset:{offset:#x}" if i.generation != 9 or (f["soffset_en"] and f["imm"]) else text


def write_bits(name: str, value: int, count: int) -> str:
    """`op_sel:[1,0,0]`."""
    return f"{name}:[{','.join(str(value >> k & 1) for k in range(count))}]"


def write_modifiers(i: Instruction) -> Iterator[str]:
    """What stands behind the operands."""
    f = i.fields
    if i.format in ("FLAT", "GLOBAL", "SCRATCH", "MUBUF", "DS", "SMEM"):
        yield from write_memory_modifiers(i)
        return
    if i.mnemonic.startswith("v_bitop3"):
        yield f"bitop3:{f['omod'] << 6 | f['abs'] << 3 | f['neg']:#x}"
    if i.format == "VOP3P":
        yield from write_packed_modifiers(i)
        return
    sources = sum(item.field in SOURCES for item in i.operands)
    has_sdst = i.operand("sdst") is not None
    if i.format == "VOP3" and f["op_sel"] and not has_sdst and i.mnemonic != "v_cndmask_b16":
        if "permlane" in i.mnemonic:
            yield write_bits("op_sel", f["op_sel"], 2)
        else:
            yield write_bits("op_sel", f["op_sel"] & ((1 << sources) - 1) | (f["op_sel"] >> 3) << sources, sources + 1)
    compares = "sdwa_sdst" in f and i.format == "VOPC"  # its register stands where others have clamp and omod
    if f.get("clamp") and i.format != "SOPP" and not compares:
        yield "clamp"
    if f.get("omod") in OMOD and not i.mnemonic.startswith("v_bitop3") and not compares:
        yield OMOD[f["omod"]]
    yield from write_lane_modifiers(i)


def write_matrix_modifiers(i: Instruction) -> Iterator[str]:
    """MFMA's broadcasts or formats, and which byte of the scales is used."""
    f = i.fields
    scaled = "scale_op_sel" in f
    for name, key, usual in (("op_sel", "scale_op_sel", 0), ("op_sel_hi", "scale_op_sel_hi", 3)):
        if scaled and f[key] != usual:
            yield write_bits(name, f[key], 3)
    for name in ("cbsz", "abid", "blgp"):
        if f[name] and not (name == "abid" and scaled):
            yield f"{name}:{f[name]}"


def write_packed_modifiers(i: Instruction) -> Iterator[str]:
    """VOP3P and matrix instructions."""
    f = i.fields
    if f.get("matrix"):
        yield from write_matrix_modifiers(i)
        return
    if i.mnemonic.startswith("v_accvgpr"):
        return
    mixed = "fma_mix" in i.mnemonic
    count = sum(item.field in SOURCES for item in i.operands)
    everything = (1 << count) - 1
    high = (f["op_sel_hi"] | f["op_sel_hi2"] << 2) & everything
    usual = 0 if mixed else everything
    if "wmma" not in i.mnemonic:
        yield from (
            write_bits("op_sel", f["op_sel"] & everything, count) for _ in range(bool(f["op_sel"] & everything))
        )
        yield from (write_bits("op_sel_hi", high, count) for _ in range(high != usual))
    yield from (write_bits(n, f[k], count) for n, k in (("neg_lo", "neg"), ("neg_hi", "neg_hi")) if f[k] and not mixed)
    if f["clamp"]:
        yield "clamp"


def name_of(names: tuple[str, ...], value: int) -> str:
    """A field's name, or its number if the ISA reserves it."""
    return names[value] if value < len(names) else str(value)


def write_lane_modifiers(i: Instruction) -> Iterator[str]:
    """DPP and SDWA."""
    f = i.fields
    if "dpp_ctrl" in f:
        yield write_dpp(f["dpp_ctrl"], i.generation)
        yield f"row_mask:{f['row_mask']:#x} bank_mask:{f['bank_mask']:#x}"
        if f["bound_ctrl"]:
            yield "bound_ctrl:1"
        if f["fi"] and i.generation >= 10:
            yield "fi:1"
    elif "dpp8" in f:
        yield f"dpp8:[{','.join(str(f['dpp8'] >> 3 * k & 7) for k in range(8))}]"
    elif "src0_sel" in f:
        if i.format != "VOPC":
            yield f"dst_sel:{name_of(SELECTS, f['dst_sel'])} dst_unused:{name_of(UNUSED, f['dst_unused'])}"
        yield f"src0_sel:{name_of(SELECTS, f['src0_sel'])}"
        if i.operand("src1"):
            yield f"src1_sel:{name_of(SELECTS, f['src1_sel'])}"


def write_dpp(control: int, generation: int) -> str:
    """The lane pattern of dpp_ctrl."""
    if control < 0x100:
        return f"quad_perm:[{','.join(str(control >> 2 * k & 3) for k in range(4))}]"
    rows = {
        0x10: "row_shl",
        0x11: "row_shr",
        0x12: "row_ror",
        0x15: "row_share" if generation >= 10 else "row_newbcast",
        0x16: "row_xmask",
    }
    if control >> 4 in rows:
        return f"{rows[control >> 4]}:{control & 15}"
    named = {
        0x130: "wave_shl:1",
        0x134: "wave_rol:1",
        0x138: "wave_shr:1",
        0x13C: "wave_ror:1",
        0x140: "row_mirror",
        0x141: "row_half_mirror",
        0x142: "row_bcast:15",
        0x143: "row_bcast:31",
    }
    return named.get(control, f"dpp:{control:#x}")


def write_scope(i: Instruction) -> Iterator[str]:
    """gfx12's temporal hint and scope."""
    hint, scope = i.fields.get("th", 0), i.fields.get("scope", 0)
    atomic = "atomic" in i.mnemonic
    if hint:
        kind = "ATOMIC" if atomic else "STORE" if "store" in i.mnemonic else "LOAD"
        names = {1: "RETURN"} if atomic else {1: "NT", 2: "HT", 3: "BYPASS" if scope == 3 else "LU"}
        yield f"th:TH_{kind}_{names.get(hint, hint)}"
    if scope:
        yield f"scope:SCOPE_{('CU', 'SE', 'DEV', 'SYS')[scope]}"


def write_memory_modifiers(i: Instruction) -> Iterator[str]:
    """Offsets and cache flags."""
    f = i.fields
    if i.format == "DS":
        if "2" in i.mnemonic.split("_b")[0]:
            yield from (f"{name}:{f[name]}" for name in ("offset0", "offset1") if f[name])
        elif offset := f["offset0"] | f["offset1"] << 8:
            swaps = i.mnemonic == "ds_swizzle_b32" and offset & 0x83FF == 0x1F
            yield f"offset:swizzle(SWAP,{offset >> 10})" if swaps else f"offset:{offset}"
        return
    if i.format == "MUBUF":
        yield from (name for name in ("idxen", "offen") if f[name])
    if i.format != "SMEM":
        bits = 24 if i.generation == 12 else 13
        offset = f["offset"]
        if i.format != "MUBUF" and offset >> (bits - 1) and not (i.generation == 9 and i.format == "FLAT"):
            offset -= 1 << bits
        if offset:
            yield f"offset:{offset}"
    if i.format == "SMEM" and i.generation == 12:
        return
    yield from write_scope(i)
    names = {"sc0": "sc0", "glc": "glc", "slc": "slc", "dlc": "dlc", "nt": "nt", "sc1": "sc1"}
    yield from (label for key, label in names.items() if f.get(key))
