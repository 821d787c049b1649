"""One instruction of a kernel → why removing it changes no result that the rule of comparison tells apart, or "".

The classes are fixed beforehand, each with its argument; mutate.py counts a mutant as equivalent only if it is of a
class, or proven to be (lockstep/), and no case noticed it. Whatever else survives is a miss.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from harness.derived import INFINITE

MNEMONICS: Mapping[str, tuple[str, ...]] = {
    "says nothing to do": ("s_nop", "v_nop", "s_code_end"),
    "advice to the scheduler": (
        "s_delay_alu", "s_clause", "s_setprio", "s_set_inst_prefetch_distance", "s_inst_prefetch", "s_sleep",
        "s_wait_alu", "s_waitcnt_depctr", "s_sendmsg",
    ),
    "caches, which one emulated device keeps coherent": (
        "buffer_inv", "buffer_wbl2", "buffer_gl0_inv", "buffer_gl1_inv", "global_inv", "global_wb", "global_wbinv",
    ),
    "skips code that no lane would execute": ("s_cbranch_execz", "s_cbranch_execnz"),
}  # fmt: skip
"""Classes that the mnemonic alone decides."""

PROLOGUE = "is never reached: loads arguments only where the firmware does not, and the entry is behind it"
"""LLVM's AMDGPU usage page, "Preloaded Kernel Arguments"."""
PROVEN = "proven from the code: on every path, a run without it stores the same"

_ENDS = ("s_cbranch", "s_branch", "s_endpgm")
_ADDRESS = ("v_lshl_add_u64", "v_add_co", "v_addc_co")
_NEAR = 24
"""How many instructions a compiler's expansion of one division, exp or quotient is long, others between them."""
_LIMITS = frozenset(f"0x{sign | size:x}" for sign in (0, 1 << 31) for size in (0x43700000, 0x43E00000, 0x47600000))
"""240, 448 and 57344 as f32, and their negatives."""


class Item(Protocol):
    """What is asked of an instruction."""

    @property
    def base(self) -> str: ...
    def text(self) -> str: ...


Rule = Callable[[Sequence[Item], int], bool]


def explain(code: Sequence[Item], index: int, op: str, dtypes: Mapping[str, str]) -> str:
    """The class of instruction `index` of a kernel of `op`, whose inputs by name are of these dtypes."""
    base = code[index].base
    for reason, names in MNEMONICS.items():
        if base in names:
            return reason
    for reason, rule in RULES.items():
        if rule(code, index):
            return reason
    if op != "quant_fp8_static" and _is_limit(code, index):
        return _SATURATES
    if not {"f32", "f16"} & set(dtypes.values()) and _asks_for_nan(code, index):
        return _WIDENED
    factors = {dtype for name, dtype in dtypes.items() if name in _FACTORS}
    if op.startswith(_PRODUCTS) and not factors & INFINITE and _fills_before_load(code, index):
        return _BEHIND_K
    return _WHOLE_BLOCKS if re.search(r"_and_mul_mxfp4|^quant_mx", op) and _fills_before_load(code, index) else ""


def _split(item: Item) -> list[str]:
    """Operands, in the order in which LLVM writes them."""
    _, _, rest = item.text().partition(" ")
    return re.findall(r"-?\|?[\w.]+(?:\[[\d:]+\])?\|?", rest)


def _read_next(code: Sequence[Item], index: int, register: str) -> Item | None:
    """The next instruction that names `register`, which that one is before any branch."""
    for item in code[index + 1 : index + 1 + _NEAR]:
        if item.base.startswith(_ENDS):
            return None
        if any(_names(operand, register) for operand in _split(item)):
            return item
    return None


def _names(operand: str, register: str) -> bool:
    if found := re.fullmatch(r"-?\|?([vs])\[(\d+):(\d+)\]\|?", operand):
        return register[0] == found[1] and int(found[2]) <= int(re.sub(r"\D", "", register) or -1) <= int(found[3])
    return operand.strip("-|") == register


def _before(code: Sequence[Item], index: int) -> Iterator[Item]:
    """What comes before without a branch, the nearest first: compilers spread one expansion over many others."""
    for item in reversed(code[:index]):
        if item.base.startswith(_ENDS):
            return
        yield item


def _find_maker(code: Sequence[Item], index: int, register: str) -> Item | None:
    return next((item for item in _before(code, index) if _split(item)[:1] == [register]), None)


def _is_identity(code: Sequence[Item], index: int) -> bool:
    operands = _split(code[index])
    if code[index].base == "v_mov_b32":
        return len(operands) == 2 and operands[0] == operands[1]
    adds = {"v_add_u32", "v_add_nc_u32", "v_or_b32", "v_lshlrev_b32", "s_add_i32", "s_or_b32"}
    if code[index].base == "v_pack_b32_f16":
        return operands[1:3] == [f"{operands[0]}.l", f"{operands[0]}.h"]
    return code[index].base in adds and "0" in operands and operands.count(operands[0]) == 2 and len(operands) == 3


def _corrects_division(code: Sequence[Item], index: int) -> bool:
    """`v_fmac q, e, r` where `v_fma e, -d, …` is the residual of a quotient or reciprocal of v_div_scale's d."""
    if code[index].base == "v_div_fmas_f32":
        return _split(code[index])[0] == _split(code[index])[3]
    if code[index].base != "v_fmac_f32":
        return False
    residual = _split(code[index])[1]
    made = _find_maker(code, index, residual)
    if made is None or made.base != "v_fma_f32" or not (divisor := _split(made)[1]).startswith("-"):
        return False
    scaled = (item for item in _before(code, index) if _split(item)[:1] == [divisor[1:]])
    return any(item.base == "v_div_scale_f32" for item in scaled)


def _starts_division(code: Sequence[Item], index: int) -> bool:
    """`v_mul q, n, r` into the register of `v_fma q, -d, r, 1.0`: without it q is some 2^-24, and corrected twice."""
    if code[index].base != "v_mul_f32":
        return False
    own, *_, reciprocal = _split(code[index])
    made = _find_maker(code, index, own)
    return made is not None and made.base == "v_fma_f32" and _split(made)[2:] == [reciprocal, "1.0"]


def _biases_negative(code: Sequence[Item], index: int) -> bool:
    """`s_lshr b, s, 27` of a sign s: what is added before the shift that divides by 32, 0 unless negative."""
    if code[index].base != "s_lshr_b32" or int(_split(code[index])[2], 0) < 25:
        return False
    sign = _split(code[index])[1]
    made = _find_maker(code, index, sign)
    return made is not None and made.base == "s_ashr_i32" and _split(made)[2] == "31"


def _scales_log(code: Sequence[Item], index: int) -> bool:
    """`v_cmp_gt … 0x800000`: whether log's argument is subnormal."""
    return code[index].base == "v_cmp_gt_f32" and "0x800000" in _split(code[index])


def _scales_beside_one(code: Sequence[Item], index: int) -> bool:
    """`v_ldexp t, t, s` of exp's small results, where the next use of t is 1.0 + t."""
    if code[index].base != "v_ldexp_f32":
        return False
    reader = _read_next(code, index, _split(code[index])[0])
    return reader is not None and reader.base in {"v_add_f32", "v_pk_add_f32"} and "1.0" in _split(reader)


def _asks_for_scaling(code: Sequence[Item], index: int) -> bool:
    """`v_cmp_gt … 0xc2fc0000`: whether exp's argument is below -126."""
    operands = _split(code[index])
    if code[index].base == "s_mov_b32":
        return operands[1] == "0xc2fc0000"
    if code[index].base == "v_mul_f32" and "0x3fb8aa3b" in operands:
        reader = _read_next(code, index, operands[0])
        return reader is not None and reader.base == "v_cmp_gt_f32" and "0xc2fc0000" in _split(reader)
    if code[index].base != "v_cmp_gt_f32":
        return False
    if "0xc2fc0000" in operands:
        return True
    own = [item for item in reversed(code[:index]) if item.base == "s_mov_b32" and _split(item)[0] in operands[1:]]
    return bool(own) and _split(own[0])[1] == "0xc2fc0000"


def _signs_quotient(code: Sequence[Item], index: int) -> bool:
    """`s_xor s, a, b` of which `s_ashr s, s, 31` is the next use."""
    if code[index].base != "s_xor_b32":
        return False
    own = _split(code[index])[0]
    reader = _read_next(code, index, own)
    return reader is not None and reader.base == "s_ashr_i32" and _split(reader) == [own, own, "31"]


def _applies_sign(code: Sequence[Item], index: int) -> bool:
    """`s_xor q, q, s` or `s_sub q, q, s` of `s_ashr s, x, 31` of `s_xor x, …`: a quotient gets its sign, which is 0."""
    operands = _split(code[index])
    if code[index].base not in {"s_xor_b32", "s_sub_i32", "s_sub_co_i32"} or operands[0] != operands[1]:
        return False
    made = _find_maker(code, index, operands[2])
    return made is not None and made.base == "s_ashr_i32" and _split(made)[1:] == [operands[2], "31"]


def _adds_low_part(code: Sequence[Item], index: int) -> bool:
    """`v_fma d, x, low, d` of the low part of log2 e."""
    operands = _split(code[index])
    is_added = code[index].base == "v_fmac_f32" or operands[:1] == operands[3:4]
    return code[index].base.startswith("v_fma") and is_added and bool({"0x32a5705f", "0xb2a5705f"} & set(operands))


def _chooses_lane(code: Sequence[Item], index: int) -> bool:
    """EXEC becomes the lanes whose number equals a constant, around stores alone."""
    item = code[index]
    if item.base.startswith("s_and_saveexec"):
        made = _find_maker(code, index, _split(item)[1])
    elif item.base.startswith(("v_cmp_eq_u32", "v_cmpx_eq_u32")):
        made = item
    else:
        return False
    if made is None or not made.base.startswith(("v_cmp_eq_u32", "v_cmpx_eq_u32")):
        return False
    if not any(operand.isdigit() for operand in _split(made)):
        return False
    region = list(itertools.takewhile(lambda other: not _restores(other), code[index + 1 : index + 1 + 2 * _NEAR]))
    stores = [other for other in region if re.match(r"(global|buffer)_store|ds_(store|write)", other.base)]
    return bool(stores) and not any("load" in other.base or "ds_read" in other.base for other in region)


def _restores(item: Item) -> bool:
    return item.base.startswith(("s_or_b", "s_endpgm", "s_barrier")) and _split(item)[:1] in (["exec"], ["exec_lo"], [])


def _clears_clear_half(code: Sequence[Item], index: int) -> bool:
    """`v_and x, 0xffff0000, x` of `v_mul x, …` of `v_lshl_or …, 20`: a decoded number times a power of two."""
    operands = _split(code[index])
    if code[index].base != "v_and_b32" or operands[1:] != ["0xffff0000", operands[0]]:
        return False
    product = _find_writer(code, index, operands[0])
    if product is None or product.base not in {"v_mul_f32", "v_pk_mul_f32"}:
        return False
    place = next(order for order in range(index - 1, -1, -1) if code[order] is product)
    number = _find_writer(code, place, operands[0])
    return number is not None and number.base == "v_lshl_or_b32" and _split(number)[2] in {"20", "21", "22"}


def _find_writer(code: Sequence[Item], index: int, register: str) -> Item | None:
    """What wrote it, alone or as one of a range."""
    return next((item for item in _before(code, index) if _split(item) and _names(_split(item)[0], register)), None)


def _exchanges_other_half(code: Sequence[Item], index: int) -> bool:
    """`row_shr:n bank_mask:0xa`, then `row_shl:n bank_mask:0x5` into it: lanes that lane 0's sum does not read."""
    step = re.search(r"row_shr:(\d+) row_mask:0xf bank_mask:0xa", code[index].text())
    if code[index].base != "v_mov_b32" or step is None:
        return False
    own = _split(code[index])[0]
    later = code[index + 1 : index + 1 + _NEAR]
    other = next((item for item in later if item.base == "v_mov_b32" and _split(item)[0] == own), None)
    return other is not None and f"row_shl:{step[1]} row_mask:0xf bank_mask:0x5" in other.text()


def _find_nan_test(code: Sequence[Item], index: int) -> Item | None:
    """`v_cmp_o x, x` or `v_cmp_u x, x`: the instruction itself, or what made the mask that it selects by."""
    item = code[index]
    test = _find_maker(code, index, _split(item)[-1]) if item.base.startswith("v_cndmask_b") else item
    if test is None or test.base not in {"v_cmp_o_f32", "v_cmp_u_f32"}:
        return None
    return test if len(set(_split(test)[-2:])) == 1 else None


def _asks_for_nan(code: Sequence[Item], index: int) -> bool:
    """`v_cmp_o x, x` or its use beside `v_bfe …, x, 16, 1`, the bit that breaks ties when x is made bf16."""
    test = _find_nan_test(code, index)
    if test is None:
        return False
    own = _split(test)[-1]
    near = code[max(0, index - _NEAR) : index + _NEAR]
    return any(item.base == "v_bfe_u32" and _split(item)[1:] == [own, "16", "1"] for item in near)


def _fills_before_load(code: Sequence[Item], index: int) -> bool:
    """Zeros for registers that a load overwrites next, in the lanes that a mask leaves on."""
    if not re.match(r"v_(dual_)?mov_b32", code[index].base):
        return False
    halves = [re.findall(r"[\w.]+", half)[1:] for half in code[index].text().split("::")]
    return all(half[1:] == ["0"] and _is_loaded_next(code, index, half[0]) for half in halves)


def _is_loaded_next(code: Sequence[Item], index: int, register: str) -> bool:
    """Whether nothing but addresses of a load is put into a register before that load's result."""
    for item in code[index + 1 : index + 1 + 2 * _NEAR]:
        operands = _split(item)
        if any(_names(operand, register) for operand in operands):
            if "_load_" in item.base and _names(operands[0], register):
                return True
            if not item.base.startswith(_ADDRESS) or not _names(operands[0], register):
                return False
    return False


def _keeps_operand_nan(code: Sequence[Item], index: int) -> bool:
    """The test for NaN, its use, or the bit that breaks ties, when an operand of a later product is rounded to bf16."""
    item, operands = code[index], _split(code[index])
    breaks_ties = item.base == "v_bfe_u32" and operands[2:] == ["16", "1"]
    if not breaks_ties and _find_nan_test(code, index) is None:
        return False
    return any(item.base.startswith(("v_mfma", "v_wmma")) for item in code[index:])


def _waits_again(code: Sequence[Item], index: int) -> bool:
    if not code[index].base.startswith(("s_waitcnt", "s_wait_")):
        return False
    return not any(item.base.startswith("s_barrier") for item in code[index + 1 : index + 3])


def _is_limit(code: Sequence[Item], index: int) -> bool:
    operands = _split(code[index])
    if code[index].base in {"v_mov_b32", "s_mov_b32"}:
        return operands[1] in _LIMITS
    if code[index].base == "v_cndmask_b32":
        return operands[1] in _LIMITS and operands[2] == operands[0]
    if code[index].base not in {"v_cmp_nlt_f32", "v_cmp_ngt_f32"}:
        return False
    own = [item for item in reversed(code[:index]) if item.base == "s_mov_b32" and _split(item)[0] in operands[1:]]
    return bool(_LIMITS & set(operands)) or (bool(own) and _split(own[0])[1] in _LIMITS)


_WIDENED = (
    "asks for NaN where a result is rounded to bf16: inputs are of bf16 or narrower, so that the low half of every NaN "
    "is 0, as that of the hardware's own is, and stays a NaN when rounded"
)
_PRODUCTS = ("gemm", "fused_moe", "stream_k")
_FACTORS = frozenset({"a", "b", "x", "gate_up", "down"})
_BEHIND_K = (
    "zeros behind K, or behind rows that are not stored, of a type without infinities: what is left there is finite, "
    "or a NaN of a row that is NaN, and the other operand has zeros, too"
)
_WHOLE_BLOCKS = (
    "zeros behind a row's end: rows are multiples of 32, so that no block of an MX scale has any, or is stored"
)
_SATURATES = "fp8's largest number, for saturation: |x| / scale is at most that, and a half step more is rounded to it"

RULES: Mapping[str, Rule] = {
    "gives a register the value that it has: x + 0, x | 0, x << 0, its own halves": _is_identity,
    "one of the corrections of an f32 division, whose other ones leave it within a step of f32": _corrects_division,
    "the first estimate of a quotient, which is as good after two corrections if it was near 0": _starts_division,
    "scales what is below 2^-62 and added to 1": _scales_beside_one,
    "decides whether exp2 is of a + 64 and scaled back by 2^-64, or of a: the same number": _asks_for_scaling,
    "the sign of a quotient of program numbers and counts, which are never negative": _signs_quotient,
    "gives a quotient of program numbers and counts its sign, which is 0: x ^ 0, x - 0": _applies_sign,
    "adds the low part of log2 e, 2^-25 of the product that it corrects: within the rule's 16 steps": _adds_low_part,
    "chooses the lane that stores: the emulator reports lanes that store unlike numbers at one place, and was silent": (
        _chooses_lane
    ),
    "clears bits that are 0: a code of 3 bits of mantissa at most, times a power of two": _clears_clear_half,
    "half of an exchange between lanes of which the first one's sum is read, which takes the other half": (
        _exchanges_other_half
    ),
    "what a signed division by a power of two adds to negative sizes, and there are none": _biases_negative,
    "asks whether log's argument is subnormal: a sum of softmax is 0, where both ways lead to -inf, or 1 and more": (
        _scales_log
    ),
    "rounds a decoded operand, which bf16 holds exactly; its NaN is 0x7fc00000, which any rounding keeps": (
        _keeps_operand_nan
    ),
    "a wait that another one covers: the emulator knows each register in flight, and was silent": _waits_again,
}
"""Classes that the instruction and its neighbours decide."""
