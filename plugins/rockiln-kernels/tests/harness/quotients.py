"""Instructions of divisions, of floats and of integers, whose removal changes no quotient: patterns of their classes.

LLVM's expansions: AMDGPULegalizerInfo.cpp, legalizeFDIV32 and legalizeUnsignedDIV_REM32Impl.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.listing import (
    ENDS,
    Item,
    find_maker,
    find_writer,
    list_makers,
    names_register,
    read_next,
    split,
    walk_back,
)
from harness.offsets import is_scalar_sign

_AT_LEAST = ("s_cmp_ge_u32", "v_cmp_le_u32")
"""Comparisons of r with d for r >= d: `s_cmp r, d`, `v_cmp vcc, d, r`."""
_CHOICES = {"s_cselect_b32": 2, "v_cndmask_b32": 1}
"""Choices, and which operand they take if the test does not hold; of the first two sources it is the other, if so."""


def corrects_division(code: Sequence[Item], index: int) -> bool:
    """`v_fmac q, e, r` where `v_fma e, -d, …` is the residual of a quotient or reciprocal of v_div_scale's d."""
    if code[index].base == "v_div_fmas_f32":
        return split(code[index])[0] == split(code[index])[3]
    if code[index].base != "v_fmac_f32":
        return False
    return any(_is_residual(code, place) for place in list_makers(code, index, split(code[index])[1]))


def _is_residual(code: Sequence[Item], index: int) -> bool:
    """`v_fma e, -d, …` of v_div_scale's d, or `v_fma e, m, …` of m = -d."""
    if code[index].base != "v_fma_f32":
        return False
    divisor = split(code[index])[1]
    if not divisor.startswith("-"):
        made = find_maker(code, index, divisor)
        if made is None or made.base != "v_xor_b32" or "0x80000000" not in split(made):
            return False
    register = divisor.removeprefix("-")
    scaled = (item for item in walk_back(code, index) if split(item)[:1] == [register])
    return any(item.base == "v_div_scale_f32" for item in scaled)


def repeats_residual(code: Sequence[Item], index: int) -> bool:
    """A residual into a register that holds another one, or the high half of an offset of 64 bits."""
    if not _is_residual(code, index):
        return False
    own = split(code[index])[0]
    written = next(
        (item for item in walk_back(code, index) if split(item) and names_register(split(item)[0], own)), None
    )
    if written is None:
        return False
    if re.match(r"v_(lshlrev_b64|lshl_add_u64)$", written.base):
        return split(written)[0].endswith(f":{own[1:]}]")
    place = next(place for place in range(index) if code[place] is written)
    return _is_residual(code, place)


def starts_division(code: Sequence[Item], index: int) -> bool:
    """`v_mul q, n, r` into the register of `v_fma q, -d, r, 1.0`: without it q is some 2^-24, and corrected twice."""
    if code[index].base != "v_mul_f32":
        return False
    own, *_, reciprocal = split(code[index])
    made = find_maker(code, index, own)
    return made is not None and made.base == "v_fma_f32" and split(made)[2:] == [reciprocal, "1.0"]


def biases_negative(code: Sequence[Item], index: int) -> bool:
    """`s_lshr b, s, 27` of a sign s: what is added before the shift that divides by 32, 0 unless negative; that sum."""
    operands = split(code[index])
    if code[index].base in {"s_add_i32", "s_add_co_i32"} and operands[0] in operands[1:]:
        others = [operand for operand in operands[1:] if operand != operands[0]]
        return (
            any(biases_negative(code, place) for operand in others for place in list_makers(code, index, operand))
            and code[index].base != "s_lshr_b32"
        )
    if code[index].base != "s_lshr_b32" or int(operands[2], 0) < 25:
        return False
    made = find_maker(code, index, operands[1])
    return made is not None and made.base == "s_ashr_i32" and split(made)[2] == "31"


def signs_quotient(code: Sequence[Item], index: int) -> bool:
    """`s_xor s, a, b` of which `s_ashr s, s, 31` is the next use; of lanes, a sign where the register holds another."""
    if _is_sign_of_lanes(code, index):
        own = split(code[index])[0]
        written = find_writer(code, index, own)
        place = None if written is None else next(place for place in range(index) if code[place] is written)
        return place is not None and _is_sign_of_lanes(code, place)
    if code[index].base != "s_xor_b32":
        return False
    own = split(code[index])[0]
    reader = read_next(code, index, own)
    return reader is not None and reader.base == "s_ashr_i32" and split(reader) == [own, own, "31"]


def applies_sign(code: Sequence[Item], index: int) -> bool:
    """`s_xor q, q, s` or `s_sub q, q, s` of `s_ashr s, x, 31` of `s_xor x, …`: a quotient gets its sign, which is 0.

    Or a remainder that of x, of which s_abs was taken.
    """
    operands = split(code[index])
    if code[index].base in {"v_xor_b32", "v_sub_u32", "v_sub_nc_u32"} and operands[0] == operands[1]:
        return any(_is_sign_of_lanes(code, place) for place in list_makers(code, index, operands[2]))
    if code[index].base not in {"s_xor_b32", "s_sub_i32", "s_sub_co_i32"} or operands[0] != operands[1]:
        return False
    made = find_maker(code, index, operands[2])
    if made is None or made.base != "s_ashr_i32" or split(made)[2] != "31":
        return False
    source = split(made)[1]
    absolute = (item for item in walk_back(code, index) if item.base == "s_abs_i32")
    return source == operands[2] or any(split(item)[1] == source for item in absolute)


def _is_sign_of_lanes(code: Sequence[Item], index: int) -> bool:
    """`v_xor s, a, b` of signs: a divisor's `s_ashr a, x, 31` and its dividend's `v_ashrrev b, 31, y`."""
    operands = split(code[index])
    if code[index].base != "v_xor_b32" or not is_scalar_sign(code, index, operands[1]):
        return False
    made = find_maker(code, index, operands[2])
    return made is not None and made.base == "v_ashrrev_i32" and split(made)[1] == "31"


def repairs_sum(code: Sequence[Item], index: int) -> bool:
    """`v_div_fixup q, q, d, 1.0` where `v_cmp_eq 0, d` is asked next, and q chosen by it."""
    operands = split(code[index])
    if code[index].base != "v_div_fixup_f32" or operands[0] != operands[1] or operands[3:] != ["1.0"]:
        return False
    test, reader = (read_next(code, index, register) for register in (operands[2], operands[0]))
    if test is None or reader is None or not re.match(r"v_cmp_n?eq_f32", test.base):
        return False
    return "0" in split(test) and reader.base == "v_cndmask_b32" and "0" in split(reader)


def corrects_twice(code: Sequence[Item], index: int) -> bool:
    """The second `r >= d`, what is taken if it holds, or that choice, of a quotient or remainder of 32 bits."""
    base, operands = code[index].base, split(code[index])
    if base in _AT_LEAST:
        return _is_second_test(code, index)
    if base in _CHOICES:
        test = _find_test(code, index)
        return operands[0] == operands[_CHOICES[base]] and test is not None and _is_second_test(code, test)
    if not base.startswith(("s_sub_", "s_add_", "v_sub", "v_add")):
        return False
    choice = _find_choice(code, index, operands[0])
    test = None if choice is None else _find_test(code, choice)
    return test is not None and _is_second_test(code, test)


def _is_second_test(code: Sequence[Item], index: int) -> bool:
    """Whether what is compared with d was chosen by a comparison with d before."""
    if code[index].base not in _AT_LEAST:
        return False
    left, divisor = split(code[index])[-2:][:: 1 if code[index].base.startswith("s") else -1]
    for place in list_makers(code, index, left):
        test = _find_test(code, place) if code[place].base in _CHOICES else None
        return test is not None and code[test].base in _AT_LEAST and divisor in split(code[test])[-2:]
    return False


def _find_test(code: Sequence[Item], index: int) -> int | None:
    """The comparison that a choice is made by."""
    if code[index].base == "v_cndmask_b32":
        return next(list_makers(code, index, split(code[index])[3]), None)
    return next((place for place in range(index - 1, -1, -1) if code[place].base.startswith("s_cmp_")), None)


def _find_choice(code: Sequence[Item], index: int, register: str) -> int | None:
    """Where the choice is that reads a register next, and takes it if its test holds."""
    for place in range(index + 1, len(code)):
        base, operands = code[place].base, split(code[place])
        if base.startswith(ENDS):
            return None
        if any(names_register(operand, register) for operand in operands[1:]):
            is_taken = base in _CHOICES and operands[3 - _CHOICES[base]] == register
            return place if is_taken else None
    return None
