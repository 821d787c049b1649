"""Upper halves of offsets that are 0 where their registers hold 0 already: patterns of classes of equivalent mutants.

Indices, sizes and strides are numbers of 32 bits that are never negative, so that their signs are 0, and so is what is
multiplied with one. Code that some lanes skip may stand between: lanes that load a later row of a tile, or a later
number of a row, load the earlier ones, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.listing import Item, find_last_writer, names_register, split

_SKIPS = ("s_cbranch_execz", "s_cbranch_execnz")
_ENDS = ("s_branch", "s_cbranch_scc", "s_cbranch_vcc", "s_endpgm")
_ADDRESS = ("v_addc_co_u32", "v_add_co_ci_u32", "v_lshlrev_b64", "v_lshl_add_u64", "v_add3_u32", "v_mad_u64_u32")


def extends_offset(code: Sequence[Item], index: int) -> bool:
    """What an address takes as an offset's upper half next, into a register that holds 0 or the same kind of 0."""
    operands = split(code[index])
    if not operands or not operands[0].startswith("v") or "[" in operands[0] or not _is_upper(code, index):
        return False
    reader = next(_read_on(code, index, operands[0]), None)
    before = _find_before(code, index, operands[0])
    if reader is None or before is None or not reader.base.startswith(_ADDRESS):
        return False
    return (code[before].base == "v_mov_b32" and split(code[before])[1] == "0") or _is_upper(code, before)


def _is_upper(code: Sequence[Item], index: int) -> bool:
    """`v_ashrrev d, 31, x`; `v_mul_lo d, x, s` of a sign s; `v_mov d, s` of one, or of an offset's upper half."""
    base, operands = code[index].base, split(code[index])
    if base == "v_ashrrev_i32":
        return operands[1] == "31"
    if base == "v_mul_lo_u32":
        return any(is_scalar_sign(code, index, operand) for operand in operands[1:])
    if base != "v_mov_b32" or not re.fullmatch(r"s\d+", operands[1]):
        return False
    return is_scalar_sign(code, index, operands[1]) or _is_upper_of_two(code, index, operands[1])


def is_scalar_sign(code: Sequence[Item], index: int, register: str) -> bool:
    """Whether a scalar register was last given the sign of another one."""
    place = find_last_writer(code, index, register) if re.fullmatch(r"s\d+", register) else None
    if place is None:
        return False
    return code[place].base == "s_ashr_i32" and split(code[place])[0] == register and split(code[place])[2] == "31"


def _is_upper_of_two(code: Sequence[Item], index: int, register: str) -> bool:
    """`s_lshl_b64 s[a:b], s[c:d], 1` where s[d] is a sign: twice a number of 31 bits."""
    place = find_last_writer(code, index, register)
    if place is None or code[place].base != "s_lshl_b64" or split(code[place])[2] != "1":
        return False
    pair = re.fullmatch(r"s\[\d+:(\d+)\]", split(code[place])[1])
    return split(code[place])[0].endswith(f":{register[1:]}]") and bool(
        pair and is_scalar_sign(code, place, f"s{pair[1]}")
    )


def _read_on(code: Sequence[Item], index: int, register: str) -> Iterator[Item]:
    """What names a register next; code that no lane executes is skipped, and changes nothing."""
    for item in code[index + 1 :]:
        if item.base.startswith(_ENDS):
            return
        if not item.base.startswith(_SKIPS) and any(names_register(operand, register) for operand in split(item)):
            yield item


def _find_before(code: Sequence[Item], index: int, register: str) -> int | None:
    """Where a register was written before, if nothing but EXEC decides whether it was."""
    for place in range(index - 1, -1, -1):
        if code[place].base.startswith(_ENDS):
            return None
        if split(code[place]) and names_register(split(code[place])[0], register):
            return place if split(code[place])[0] == register else None
    return None
