"""Vector ALU instructions → micro-ops: modifiers, DPP, SDWA, masks, small floats, packed halves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gfxemu.micro import ALTERNATIVE, DPP, DPP8, SCALAR, SDWA, VECTOR, ZERO_HIGH, Micro
from gfxemu.names import ACCUMULATING, core_name

if TYPE_CHECKING:
    from gfxemu.instruction import Instruction, Operand
    from gfxemu.lower import Lowering

SMALL = {"fp8": 0, "bf8": 1, "fp6": 2, "bf6": 3, "fp4": 4}
WIDE = {"f32": 0, "f16": 1, "bf16": 2}
SATURATING = frozenset(
    (
        "v_add_u32",
        "v_sub_u32",
        "v_subrev_u32",
        "v_add_i32",
        "v_sub_i32",
        "v_add_u16",
        "v_sub_u16",
        "v_add_i16",
        "v_sub_i16",
    )
)
FREE_OF_ZEROING = ("_e32", "_e64", "_dpp")


def lower_vector(ctx: Lowering, i: Instruction) -> Micro | None:
    """Any VOP instruction but matrix ones; None where no meaning is known."""
    name = core_name(i.base)
    if name.startswith("v_cvt_") and (small := small_float(name)):
        name, control = small
        micro = Micro(op=name, control=control)
    else:
        micro = Micro(op=name)
    set_modifiers(i, micro)
    set_operands(ctx, i, micro)
    if name.startswith("v_bitop3"):
        f = i.fields
        micro.control = f["omod"] << 6 | f["abs"] << 3 | f["neg"]
        micro.neg = micro.abs = micro.omod = 0
    if micro.clamp and micro.op in SATURATING:
        micro.op += "_sat"
    if micro.op == "v_dot4_i32_iu8":
        micro.op, micro.neg = (
            ("v_dot4_i32_i8" if micro.neg & 3 == 3 else "v_dot4_u32_u8" if micro.neg & 3 == 0 else "unknown"),
            0,
        )
    return micro


def set_operands(ctx: Lowering, i: Instruction, micro: Micro) -> None:
    """Destination, second destination, sources in the order of LLVM's text."""
    operands = list(i.operands)
    if micro.op.startswith("v_cmp"):
        return set_compare(ctx, i, micro, operands)
    first = operands.pop(0) if operands else None
    if first is not None:
        micro.dst = ctx.slot(first)
    types = ctx.types(micro.op) or ""
    carries = "_co_" in micro.op or micro.op.startswith(("v_div_scale", "v_mad_u64", "v_mad_i64"))
    if carries and operands and operands[0].field in ("sdst", "vcc"):
        micro.dst2 = ctx.slot(operands.pop(0))
    micro.src = ctx.slots(operands, types)
    if ACCUMULATING.match(i.base) and first is not None:
        micro.src.append(ctx.slot(first))
    if micro.op.startswith(("v_permlane16_swap", "v_permlane32_swap", "v_swap")):
        micro.dst2 = micro.dst
    return None


def set_compare(ctx: Lowering, i: Instruction, micro: Micro, operands: list[Operand]) -> None:
    """v_cmp writes a mask; v_cmpx writes EXEC, on gfx9 also the mask."""
    if micro.op.startswith("v_cmpx_"):
        micro.op = micro.op.replace("v_cmpx_", "v_cmp_", 1)
        micro.flags |= ALTERNATIVE
    if operands and operands[0].field in ("vcc", "sdst", "vdst"):
        first = operands.pop(0)
        if not (micro.flags & ALTERNATIVE and i.generation >= 11):
            micro.dst = ctx.slot(first)
    if micro.dst[0] not in (SCALAR, VECTOR) and not micro.flags & ALTERNATIVE:
        micro.dst = (SCALAR, 2, 106, 0, 0)
    micro.src = ctx.slots(operands, ctx.types(micro.op) or "")


def set_modifiers(i: Instruction, micro: Micro) -> None:
    """neg, abs, op_sel, clamp, omod; DPP and SDWA controls."""
    f = i.fields
    has_sdst = i.operand("sdst") is not None and i.format == "VOP3"
    micro.neg, micro.clamp, micro.omod = f.get("neg", 0), f.get("clamp", 0), f.get("omod", 0)
    micro.abs = 0 if has_sdst else f.get("abs", 0)
    micro.op_sel = 0 if has_sdst else f.get("op_sel", 0)
    if i.format == "VOP3P":
        micro.omod = micro.abs = 0
        micro.neg_hi, micro.op_sel_hi = f["neg_hi"], f["op_sel_hi"] | f["op_sel_hi2"] << 2
    if "src0_neg" in f:
        micro.neg |= f["src0_neg"] | f["src1_neg"] << 1
        micro.abs |= f["src0_abs"] | f["src1_abs"] << 1
    for bit, name in ((0, "src0"), (1, "src1"), (2, "src2"), (3, "vdst")):
        operand = i.operand(name)
        if operand is not None and operand.half == "h":
            micro.op_sel |= 1 << bit
    if i.generation == 9 and (i.mnemonic.endswith(FREE_OF_ZEROING) or i.format in ("VOP1", "VOP2")):
        micro.flags |= ZERO_HIGH
    set_lane_controls(i, micro)


def set_lane_controls(i: Instruction, micro: Micro) -> None:
    """DPP16, DPP8 and SDWA words (core: cross_lane.cpp, vector.cpp)."""
    f = i.fields
    if "dpp_ctrl" in f:
        micro.flags |= DPP
        micro.control |= (
            f["dpp_ctrl"] | f["row_mask"] << 12 | f["bank_mask"] << 16 | f["bound_ctrl"] << 20 | f["fi"] << 21
        )
    elif "dpp8" in f:
        micro.flags |= DPP8
        micro.control, micro.op_sel_hi = f["dpp8"], f["fi"]
    elif "src0_sel" in f:
        micro.flags |= SDWA
        compare = i.format == "VOPC"
        micro.control |= (
            (6 if compare else f["dst_sel"] | f["dst_unused"] << 3) | f["src0_sel"] << 8 | f["src1_sel"] << 12
        )
        micro.control |= f["src0_sext"] << 16 | f["src1_sext"] << 17
        if compare:
            micro.clamp = micro.omod = 0


def small_float(name: str) -> tuple[str, int] | None:
    """v_cvt_* with fp8, bf8 or fp4 → core op and control (core/small_float.cpp); None: no such, or not modelled."""
    scaled = "_scalef32" in name
    if match := re.fullmatch(r"v_cvt(?:_scalef32)?_pk_(fp8|bf8|fp4)_(f32|f16|bf16)", name):
        return "pack_small", SMALL[match[1]] | WIDE[match[2]] << 4 | scaled << 8
    if match := re.fullmatch(r"v_cvt_sr_(fp8|bf8)_f32", name):
        return "pack_stochastic", SMALL[match[1]]
    if match := re.fullmatch(r"v_cvt(?:_scalef32)?(_pk)?_(f32|f16|bf16)_(fp8|bf8|fp4)", name):
        count = 2 if match[1] else 1
        return "unpack_small", SMALL[match[3]] | WIDE[match[2]] << 4 | scaled << 8 | count << 10 | scaled << 12
    return None
