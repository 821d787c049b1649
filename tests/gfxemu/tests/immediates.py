"""16-bit immediates as LLVM names their fields → one spelling: waits by counter, all others as the number.

Encodings: LLVM's AMDGPUBaseInfo and AMDGPUAsmUtils; CDNA3 ISA §4.4, §5.8; RDNA3 ISA §5.6, §5.7, §6; RDNA4 ISA §5.7.
"""

from __future__ import annotations

import re

COUNTERS = {
    "gfx9": {"vmcnt": ((0, 4), (14, 2)), "expcnt": ((4, 3),), "lgkmcnt": ((8, 4),)},
    "gfx1": {"vmcnt": ((10, 6),), "expcnt": ((0, 3),), "lgkmcnt": ((4, 6),)},
}
"""s_waitcnt: counter → (lowest bit, width), the low part first."""
DEPENDENCIES = {
    "depctr_sa_sdst": (0, 1),
    "depctr_va_vcc": (1, 1),
    "depctr_vm_vsrc": (2, 3),
    "depctr_hold_cnt": (7, 1),
    "depctr_va_ssrc": (8, 1),
    "depctr_va_sdst": (9, 3),
    "depctr_va_vdst": (12, 4),
}
"""s_waitcnt_depctr, which gfx12 calls s_wait_alu."""
DELAYS = (
    "NO_DEP",
    *(f"VALU_DEP_{k}" for k in range(1, 5)),
    *(f"TRANS32_DEP_{k}" for k in range(1, 4)),
    "FMA_ACCUM_CYCLE_1",
    *(f"SALU_CYCLE_{k}" for k in range(1, 4)),
)
SKIPS = ("SAME", "NEXT", *(f"SKIP_{k}" for k in range(1, 5)))
MESSAGES = {
    "MSG_INTERRUPT": 1,
    "MSG_DEALLOC_VGPRS": 3,
    "MSG_RTN_GET_DOORBELL": 128,
    "MSG_RTN_GET_DDID": 129,
    "MSG_RTN_GET_TMA": 130,
    "MSG_RTN_GET_REALTIME": 131,
    "MSG_RTN_SAVE_WAVE": 132,
    "MSG_RTN_GET_TBA": 133,
}
REGISTERS = {
    "MODE": 1,
    "STATUS": 2,
    "TRAPSTS": 3,
    "HW_ID": 4,
    "GPR_ALLOC": 5,
    "LDS_ALLOC": 6,
    "IB_STS": 7,
    "SH_MEM_BASES": 15,
    "XCC_ID": 20,
    "HW_ID1": 23,
    "HW_ID2": 24,
    "SHADER_CYCLES": 29,
    "SHADER_CYCLES_LO": 29,
    "SHADER_CYCLES_HI": 30,
}
"""HW_REG_NAME, gfx12's HW_REG_WAVE_NAME; what is missing here stays as it is, and differs."""


def spell_immediates(text: str, arch: str) -> str:
    """The text (numbers in decimal) with its immediate in one spelling, whether it was a number or names."""
    name, _, rest = text.partition(" ")
    if name == "s_waitcnt":
        fields = COUNTERS["gfx9" if arch.startswith("gfx9") else "gfx1"]
        return f"{name} {spell_fields(rest, fields)}"
    if name in ("s_waitcnt_depctr", "s_wait_alu"):
        return f"{name} {spell_fields(rest, {key: (place,) for key, place in DEPENDENCIES.items()})}"
    if name == "s_delay_alu":
        return f"{name} {count_delay(rest)}"
    text = re.sub(r"hwreg\((?:HW_REG_)?(?:WAVE_)?(\w+)(?:, (\d+), (\d+))?\)", count_register, text)
    return re.sub(r"sendmsg\((\w+)\)", lambda match: str(MESSAGES.get(match[1], match[0])), text)


def spell_fields(text: str, fields: dict[str, tuple[tuple[int, int], ...]]) -> str:
    """Every field with its value: from a number, or from `name(value)`, where a missing one has its largest."""
    named = {match[1]: int(match[2]) for match in re.finditer(r"(\w+)\((\d+)\)", text)}
    assert set(named) <= set(fields), text
    out = []
    for name, places in fields.items():
        value, shift = 0, 0
        for low, width in places:
            value |= (int(text) >> low & (1 << width) - 1 if text.isdigit() else (1 << width) - 1) << shift
            shift += width
        out.append(f"{name}({named.get(name, value)})")
    return " ".join(out)


def count_delay(text: str) -> str:
    """s_delay_alu's number."""
    if text.isdigit():
        return text
    named = dict(re.findall(r"(\w+)\((\w+)\)", text))
    first, second = (DELAYS.index(named.get(f"instid{k}", "NO_DEP")) for k in (0, 1))
    return str(first | SKIPS.index(named.get("instskip", "SAME")) << 4 | second << 7)


def count_register(match: re.Match[str]) -> str:
    """hwreg's number: register, first bit, bits less one."""
    number = int(match[1]) if match[1].isdigit() else REGISTERS.get(match[1])
    if number is None:
        return match[0]
    return str(number | int(match[2] or 0) << 6 | int(match[3] or 32) - 1 << 11)
