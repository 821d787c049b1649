"""LDS, global, flat, scratch, buffer and scalar memory instructions → micro-ops: address parts, access widths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gfxemu.micro import EMPTY, RETURNS, Micro, Slot
from gfxemu.names import parse_atomic, parse_width

if TYPE_CHECKING:
    from gfxemu.instruction import Instruction
    from gfxemu.lower import Lowering

SIGNED, D16, D16_HIGH, ATOMIC64, TO_LDS, COHERENT = 1, 2, 4, 8, 16, 32  # Control in core/memory.h
SPACES = {"GLOBAL": 0, "FLAT": 1, "SCRATCH": 2, "MUBUF": 3}


def sign(value: int, bits: int) -> int:
    """A two's complement field as an int."""
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def lower_memory(ctx: Lowering, i: Instruction) -> Micro | None:
    """Any memory instruction; None where it is unknown."""
    if i.format == "DS":
        return lower_lds(ctx, i)
    if i.format == "SMEM":
        return lower_scalar_load(ctx, i)
    return lower_vector_memory(ctx, i)


def slot_of(ctx: Lowering, i: Instruction, name: str) -> Slot:
    """An operand by field, or an empty slot."""
    operand = i.operand(name)
    return ctx.slot(operand) if operand else EMPTY


def lower_lds(ctx: Lowering, i: Instruction) -> Micro | None:
    """DS instructions; the two offsets are one 16-bit offset where one address is used."""
    f = i.fields
    offset = f["offset0"] | f["offset1"] << 8
    micro = Micro(op=i.mnemonic, dst=slot_of(ctx, i, "vdst"), offset=offset)
    micro.src = [slot_of(ctx, i, name) for name in ("addr", "data0", "data1")]
    name = i.mnemonic
    if match := re.fullmatch(r"ds_(read|load|write|store)(2st64|2|_2addr_stride64|_2addr)?_(\w+)", name):
        width = parse_width(match[3])
        if width is None:
            return lower_special_lds(micro, name)
        micro.size, signed, d16, high = width
        micro.control = signed * SIGNED | (d16 and not high) * D16 | high * D16_HIGH
        loads, two = match[1] in ("read", "load"), match[2] or ""
        micro.op = ("ds_read" if loads else "ds_write") + ("2" if two else "")
        if two:
            step = micro.size * (64 if "64" in two else 1)
            micro.offset, micro.offset1 = f["offset0"] * step, f["offset1"] * step
        return micro
    return lower_special_lds(micro, name)


def lower_special_lds(micro: Micro, name: str) -> Micro | None:
    """Lane moves, transposing reads, atomics."""
    if name in ("ds_bpermute_b32", "ds_permute_b32", "ds_swizzle_b32") or "_tr_b" in name:
        micro.size = 4
        return micro
    match = re.fullmatch(r"ds_(\w+?)(_rtn)?_((?:pk_add_)?[iubf]\d+|bf16|f16)", name)
    body = f"{match[1]}_{match[3]}" if match else ""
    if match and match[1] == "pk_add":
        parsed = parse_atomic(f"pk_add_{match[3]}")
    else:
        parsed = parse_atomic(body.replace("_rtn", "")) if match else None
    if match is None or parsed is None:
        return None
    micro.op = "ds_atomic"
    micro.control = parsed[0] << 8 | parsed[1] * ATOMIC64
    micro.size = 8 if parsed[1] else 4
    if match[2]:
        micro.flags |= RETURNS
    if "cmpst_" in name or name.startswith("ds_cmpst_rtn"):
        micro.src[1], micro.src[2] = micro.src[2], micro.src[1]  # gfx9: data0 is what is compared
    return micro


def lower_scalar_load(ctx: Lowering, i: Instruction) -> Micro | None:
    """s_load, s_buffer_load, s_memtime."""
    if i.mnemonic in ("s_memtime", "s_memrealtime"):
        return Micro(op="s_memtime", dst=slot_of(ctx, i, "sdata"))
    match = re.fullmatch(r"s_(buffer_)?load_(?:dword(?:x(\d+))?|b(\d+))", i.mnemonic)
    if not match:
        return None
    f = i.fields
    dwords = int(match[2] or 0) or int(match[3] or 32) // 32
    micro = Micro(op="s_buffer_load" if match[1] else "s_load", dst=slot_of(ctx, i, "sdata"), size=dwords * 4)
    micro.src = [slot_of(ctx, i, "sbase"), EMPTY]
    scalar_offset = f["soffset"]
    if i.generation == 9:
        micro.offset = sign(f["offset"], 21) if f["imm"] else 0
        uses_scalar = f["soffset_en"] or not f["imm"]
        scalar_offset = f["soffset"] if f["soffset_en"] else f["offset"] & 127
    else:
        micro.offset = sign(f["offset"], 24 if i.generation == 12 else 21)
        uses_scalar = scalar_offset != 124
    if uses_scalar:
        from gfxemu.instruction import Operand

        micro.src[1] = ctx.slot(Operand(field="soffset", kind="s", index=scalar_offset))
    return micro


def lower_vector_memory(ctx: Lowering, i: Instruction) -> Micro | None:
    """Loads, stores and atomics of the four address spaces."""
    match = re.fullmatch(r"(?:global|flat|scratch|buffer)_(load_lds|load|store|atomic)_(\w+)", i.mnemonic)
    if not match:
        return None
    kind, body = match[1], match[2]
    micro = Micro(op="", control=SPACES[i.format] << 16)
    if kind == "atomic":
        parsed = parse_atomic(body)
        if parsed is None:
            return None
        micro.op, micro.size = "mem_atomic", 8 if parsed[1] else 4
        micro.control |= parsed[0] << 8 | parsed[1] * ATOMIC64
    else:
        width = parse_width(body)
        if width is None:
            return None
        micro.size, signed, d16, high = width
        micro.op = "mem_store" if kind == "store" else "mem_load"
        micro.control |= signed * SIGNED | (d16 and not high) * D16 | high * D16_HIGH
        if kind == "load_lds" or i.fields.get("lds"):
            micro.control |= TO_LDS
        micro.control |= is_coherent(ctx, i) * COHERENT
    set_addressing(ctx, i, micro)
    returns = i.fields.get("sc0", 0) or i.fields.get("glc", 0) or i.fields.get("th", 0) & 1
    if micro.op == "mem_atomic":
        set_atomic_data(ctx, i, micro, bool(returns))
    return micro


def is_coherent(ctx: Lowering, i: Instruction) -> bool:
    """Whether a load's bits are those of an atomic (or volatile) one: it looks beyond the caches of its compute unit.

    LLVM, "User Guide for AMDGPU Backend", Memory Model of each generation: glc, sc0 and sc1, scope. gfx90a's
    nontemporal loads have glc, too, with slc beside it.
    """
    f = i.fields
    if ctx.arch.name == "gfx90a":
        return bool(f.get("sc0")) and not f.get("nt")
    return any(f.get(name) for name in ("sc0", "sc1", "glc", "scope"))


def set_atomic_data(ctx: Lowering, i: Instruction, micro: Micro, returns: bool) -> None:
    """Where an atomic's data is and whether the old value comes back."""
    compares = micro.control >> 8 & 0xFF == 1
    width = (micro.size // 4) * (2 if compares else 1)
    field = "vdata" if i.format == "MUBUF" else "data"
    micro.src[1] = vector(ctx, i, field, width)
    if returns:
        micro.flags |= RETURNS
        micro.dst = vector(ctx, i, "vdata" if i.format == "MUBUF" else "vdst", micro.size // 4)


def vector(ctx: Lowering, i: Instruction, field: str, width: int) -> Slot:
    """A vector register field as a slot of so many dwords, AGPRs included."""
    from gfxemu.instruction import Operand

    kind = "a" if i.generation == 9 and i.fields.get("acc") and field != "addr" else "v"
    return ctx.slot(Operand(field=field, kind=kind, index=i.fields[field], width=width))


def set_addressing(ctx: Lowering, i: Instruction, micro: Micro) -> None:
    """Address, data, scalar base; destination of loads."""
    from gfxemu.instruction import Operand

    f = i.fields
    dwords = max(1, micro.size // 4)
    if i.format == "MUBUF":
        address = vector(ctx, i, "vaddr", 1) if f["offen"] or f["idxen"] else EMPTY
        base = ctx.slot(Operand(field="srsrc", kind="s", index=f["srsrc"] * (1 if i.generation == 12 else 4), width=4))
        code = f["soffset"]
        scalar = ctx.slot(Operand(field="soffset", kind="s" if code < 128 else "code", index=code))
        micro.src = [address, vector(ctx, i, "vdata", dwords), base, scalar]
        micro.dst = vector(ctx, i, "vdata", dwords) if micro.op == "mem_load" else EMPTY
        micro.offset = sign(f["offset"], 24) if i.generation == 12 else f["offset"]
    else:
        off = f["saddr"] == (0x7F if i.generation == 9 else 124) or (i.format == "FLAT" and i.generation != 12)
        base = (
            EMPTY
            if off
            else ctx.slot(Operand(field="saddr", kind="s", index=f["saddr"], width=1 if i.format == "SCRATCH" else 2))
        )
        width = 1 if i.format == "SCRATCH" or not off else 2
        uses_vector = i.format != "SCRATCH" or (f["sve"] if ctx.arch.name != "gfx90a" else off)
        micro.src = [
            vector(ctx, i, "addr", width) if uses_vector else EMPTY,
            vector(ctx, i, "data", dwords),
            base,
            EMPTY,
        ]
        micro.dst = vector(ctx, i, "vdst", dwords) if micro.op == "mem_load" else EMPTY
        micro.offset = sign(f["offset"], 24 if i.generation == 12 else 13)
        if i.generation == 9 and i.format == "FLAT":
            micro.offset = f["offset"] & 0xFFF
    if micro.op in ("mem_load", "mem_atomic"):
        micro.src[1] = EMPTY
    if micro.control & TO_LDS:
        micro.dst, micro.offset1 = EMPTY, micro.offset
