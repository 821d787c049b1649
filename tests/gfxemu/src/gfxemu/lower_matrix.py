"""MFMA and WMMA mnemonics → the core's one matrix op, with shape and formats as numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gfxemu.micro import Micro

if TYPE_CHECKING:
    from gfxemu.instruction import Instruction
    from gfxemu.lower import Lowering

FORMATS = {
    "fp8": 0,
    "bf8": 1,
    "fp6": 2,
    "bf6": 3,
    "fp4": 4,
    "f16": 7,
    "bf16": 8,
    "f32": 9,
    "i8": 10,
    "f64": 11,
    "xf32": 15,
}  # Format in core/small_float.h
BITS = {0: 8, 1: 8, 2: 6, 3: 6, 4: 4, 5: 8, 6: 8, 7: 16, 8: 16, 9: 32, 10: 8, 11: 64, 12: 4, 13: 8, 14: 4, 15: 32}
OUTPUTS = {"f32": 0, "i32": 1, "f64": 2, "f16": 3, "bf16": 4}
NAME = re.compile(r"v_(mfma|wmma)_(scale_)?(f32|i32|f64|f16|bf16)_(\d+)x(\d+)x(\d+)_?(?:\d+b_)?([a-z0-9_]+?)(?:_1k)?$")
# Dense multiply-adds' flops a cycle and SIMD, from the published peaks of a part of each generation.
RATES = {
    90: {16: 256, 8: 256, 32: 64, 64: 64},
    942: {16: 512, 8: 1024, 32: 64, 64: 64},
    950: {16: 1024, 8: 2048, 6: 4096, 4: 4096, 32: 64, 64: 32},
    1100: {16: 256, 8: 256, 4: 512},
    1201: {16: 512, 8: 1024, 4: 2048},
}


def lower_matrix(ctx: Lowering, i: Instruction) -> Micro | None:
    """One matrix instruction; None for sparse ones and broadcasts (cbsz, abid, blgp), which are not modelled."""
    match = NAME.fullmatch(i.base)
    dst, a, b, c = (i.operand(name) for name in ("vdst", "src0", "src1", "src2"))
    if not match or dst is None or a is None or b is None or c is None:
        return None
    wmma, out = match[1] == "wmma", OUTPUTS[match[3]]
    rows, k = int(match[4]), int(match[6])
    formats = operand_formats(ctx, i, match[7])
    if formats is None:
        return None
    f, scaled = i.fields, bool(match[2])
    blocks = 1 if wmma else dst.width * 64 // (rows * rows) // (2 if out == 2 else 1)
    a_slot, b_slot = (resize(ctx.slot(x), fmt, i, k, rows * blocks) for x, fmt in ((a, formats[0]), (b, formats[1])))
    micro = Micro(
        op="matrix", dst=ctx.slot(dst), src=[a_slot, b_slot, ctx.slot(c, "d" if out == 2 else "h" if out == 3 else "u")]
    )
    micro.control = rows | k << 8 | blocks << 16 | wmma << 24 | scaled << 25
    micro.offset = formats[0] | formats[1] << 8 | out << 16
    micro.omod = min(255, max(1, cycles(ctx, rows * rows * k * blocks * 2, max(BITS[item] for item in formats)) // 4))
    micro.clamp, micro.op_sel = (f["clamp"], f["op_sel"]) if wmma else (0, 0)
    if scaled:
        low, high = f["scale_op_sel"], f["scale_op_sel_hi"]
        micro.offset1 = (low & 1 | (high & 1) << 1) | (low >> 1 & 1 | (high >> 1 & 1) << 1) << 4
        scales = [i.operand(name) for name in ("scale0", "scale1")]
        micro.src.append(ctx.slot(scales[0]) if scales[0] else (0, 1, 0, 0, 0))
        micro.dst2 = ctx.slot(scales[1]) if scales[1] else (0, 1, 0, 0, 0)
    return micro


def resize(
    slot: tuple[int, int, int, int, int], fmt: int, i: Instruction, k: int, cells: int
) -> tuple[int, int, int, int, int]:
    """The registers that are read: fewer than the encoding's for fp6 and fp4 operands."""
    if "f8f6f4" not in i.mnemonic:
        return slot
    groups = 64 // cells
    return (slot[0], k // groups * BITS[fmt] // 32, slot[2], slot[3], slot[4])


def operand_formats(ctx: Lowering, i: Instruction, text: str) -> tuple[int, int] | None:
    """The formats of A and B."""
    f = i.fields
    if text == "f8f6f4":
        return (f["cbsz"], f["blgp"]) if f["cbsz"] <= 4 and f["blgp"] <= 4 else None
    if "mfma" in i.mnemonic and (f["cbsz"] or f["abid"] or f["blgp"]):
        return None
    if text in ("iu8", "iu4"):
        signed, unsigned = (10, 13) if text == "iu8" else (12, 14)
        return (signed if f["neg"] & 1 else unsigned, signed if f["neg"] & 2 else unsigned)
    names = text.split("_")
    names = names * 2 if len(names) == 1 else names
    if len(names) != 2 or any(name not in FORMATS for name in names):
        return None
    first, second = FORMATS[names[0]], FORMATS[names[1]]
    fnuz = 5 if ctx.arch.fnuz else 0
    return (first + fnuz if first <= 1 else first, second + fnuz if second <= 1 else second)


def cycles(ctx: Lowering, flops: int, bits: int) -> int:
    """Modelled cycles of one SIMD's matrix unit."""
    number = ctx.arch.number
    rates = RATES[number if number in RATES else 1100 if number == 1101 else 1201]
    return flops // rates.get(bits, 64)
