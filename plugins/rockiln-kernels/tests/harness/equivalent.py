"""One instruction of a kernel → why removing it changes no result that the rule of comparison tells apart, or "".

The classes are fixed beforehand, each with its argument; mutate.py counts a mutant as equivalent only if it is of a
class, or proven to be (lockstep/), and no case noticed it. Whatever else survives is a miss.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence

from harness.derived_products import INFINITE
from harness.listing import (
    ENDS,
    Item,
    find_maker,
    find_only_maker,
    find_writer,
    names_register,
    read_next,
    reads_constant,
    split,
    walk_back,
)
from harness.offsets import extends_offset
from harness.quotients import (
    applies_sign,
    biases_negative,
    corrects_division,
    corrects_twice,
    repairs_sum,
    repeats_residual,
    signs_quotient,
    starts_division,
)
from rockiln_kernels.dtypes import DTYPES

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

_ADDRESS = ("v_lshl_add_u64", "v_add_co", "v_addc_co")
_NEAR = 24
"""How many instructions a compiler's expansion of one division, exp or quotient is long, others between them."""
_LIMITS = frozenset(f"0x{sign | size:x}" for sign in (0, 1 << 31) for size in (0x43700000, 0x43E00000, 0x47600000))
"""240, 448 and 57344 as f32, and their negatives."""


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
    return _explain_in_op(code, index, op, dtypes)


def _explain_in_op(code: Sequence[Item], index: int, op: str, dtypes: Mapping[str, str]) -> str:
    """Classes of some ops alone, or of some types."""
    if op != "quant_fp8_static" and _is_limit(code, index):
        return _SATURATES
    if not {"f32", "f16"} & set(dtypes.values()) and _asks_for_nan(code, index):
        return _WIDENED
    if _QUANTISES.search(op) and _switches_on_first_lanes(code, index):
        return _FIRST_LANES
    loads = _fills_before_load(code, index)
    return _explain_zeros(loads, op, dtypes) if loads else ""


def _explain_zeros(loads: Sequence[Item], op: str, dtypes: Mapping[str, str]) -> str:
    """Zeros of lanes that load nothing; what is loaded by bytes is of a type of a byte."""
    factors = {dtype for name, dtype in dtypes.items() if name in _FACTORS}
    if all(re.search(r"_load_(u8|ubyte)", item.base) for item in loads):
        factors = {dtype for dtype in factors if DTYPES[dtype].size_bytes == 1}
    if op.startswith(_PRODUCTS) and not factors & INFINITE:
        return _BEHIND_K
    return _WHOLE_BLOCKS if re.search(r"_and_mul_mxfp4|^quant_mx", op) else ""


def _is_identity(code: Sequence[Item], index: int) -> bool:
    operands = split(code[index])
    if code[index].base == "v_mov_b32":
        return len(operands) == 2 and operands[0] == operands[1]
    adds = {"v_add_u32", "v_add_nc_u32", "v_or_b32", "v_lshlrev_b32", "s_add_i32", "s_or_b32"}
    if code[index].base == "v_pack_b32_f16":
        return operands[1:3] == [f"{operands[0]}.l", f"{operands[0]}.h"]
    return code[index].base in adds and "0" in operands and operands.count(operands[0]) == 2 and len(operands) == 3


def _scales_log(code: Sequence[Item], index: int) -> bool:
    """`v_cmp_gt … 0x800000`: whether log's argument is subnormal."""
    return code[index].base == "v_cmp_gt_f32" and "0x800000" in split(code[index])


def _scales_beside_one(code: Sequence[Item], index: int) -> bool:
    """`v_ldexp t, t, s` of exp's small results, where the next use of t is 1.0 + t; s = -64 where its register holds
    exp's argument, less than -62, whose bits are a number as negative as makes 0 of t."""
    if code[index].base == "v_not_b32":
        return _scales_by_argument(code, index)
    if code[index].base != "v_ldexp_f32":
        return False
    reader = read_next(code, index, split(code[index])[0])
    return reader is not None and reader.base in {"v_add_f32", "v_pk_add_f32"} and "1.0" in split(reader)


def _scales_by_argument(code: Sequence[Item], index: int) -> bool:
    """`v_exp t, s`, `v_not s, 63`, and s by the choice of arguments below -126 to v_ldexp of t."""
    own, *bits = split(code[index])
    choice = read_next(code, index, own)
    used = next((item for item in walk_back(code, index) if own in split(item)), None)
    if bits != ["63"] or choice is None or choice.base != "v_cndmask_b32" or used is None or used.base != "v_exp_f32":
        return False
    scaled = read_next(code, _locate(code, index, choice), split(choice)[0])
    return scaled is not None and _scales_beside_one(code, _locate(code, index, scaled))


def _locate(code: Sequence[Item], index: int, item: Item) -> int:
    return next(place for place in range(index, len(code)) if code[place] is item)


def _asks_for_scaling(code: Sequence[Item], index: int) -> bool:
    """`v_cmp_gt … 0xc2fc0000`: whether exp's argument is below -126."""
    operands = split(code[index])
    if code[index].base == "s_mov_b32":
        return operands[1] == "0xc2fc0000"
    if code[index].base == "v_mul_f32":
        reader = read_next(code, index, operands[0])
        if reader is None or not reads_constant(code, index, "0x3fb8aa3b"):
            return False
        is_test = reader.base == "v_cmp_gt_f32"
        return is_test and reads_constant(code, _locate(code, index, reader), "0xc2fc0000")
    return code[index].base == "v_cmp_gt_f32" and reads_constant(code, index, "0xc2fc0000")


def _adds_low_part(code: Sequence[Item], index: int) -> bool:
    """`v_fma d, x, low, d` of the low part of log2 e."""
    operands = split(code[index])
    is_added = code[index].base == "v_fmac_f32" or operands[:1] == operands[3:4]
    return code[index].base.startswith("v_fma") and is_added and bool({"0x32a5705f", "0xb2a5705f"} & set(operands))


def _chooses_lane(code: Sequence[Item], index: int) -> bool:
    """EXEC becomes the lanes whose number equals a constant, around stores alone."""
    item = code[index]
    if item.base.startswith("s_and_saveexec"):
        made = find_maker(code, index, split(item)[1]) or find_only_maker(code, split(item)[1])
    elif item.base.startswith(("v_cmp_eq_u32", "v_cmpx_eq_u32")):
        made = item
    else:
        return False
    if made is None or not made.base.startswith(("v_cmp_eq_u32", "v_cmpx_eq_u32")):
        return False
    if not any(operand.isdigit() for operand in split(made)):
        return False
    region = list(itertools.takewhile(lambda other: not _restores(other), code[index + 1 : index + 1 + 2 * _NEAR]))
    stores = [other for other in region if re.match(r"(global|buffer)_store|ds_(store|write)", other.base)]
    return bool(stores) and not any("load" in other.base or "ds_read" in other.base for other in region)


def _switches_on_first_lanes(code: Sequence[Item], index: int) -> bool:
    """EXEC back to all lanes after stores, where the next choice is of lanes whose number has low bits of 0."""
    if not code[index].base.startswith("s_or_b") or not _restores(code[index]):
        return False
    stores = itertools.takewhile(lambda item: "saveexec" not in item.base, reversed(code[:index]))
    if not any(re.match(r"(global|buffer)_store", item.base) for item in stores):
        return False
    for place in range(index + 1, len(code)):
        if code[place].base.startswith(ENDS):
            return False
        if "saveexec" in code[place].base:
            return any(
                item.base.startswith("v_cmp_eq_u32") and _is_masked_lane(code, item) for item in code[index:place]
            )
    return False


def _is_masked_lane(code: Sequence[Item], test: Item) -> bool:
    """`v_cmp_eq 0, x` of `v_and x, bits, …`."""
    operands = split(test)
    place = next(place for place in range(len(code)) if code[place] is test)
    made = find_maker(code, place, operands[-1])
    return "0" in operands and made is not None and made.base == "v_and_b32"


def _restores(item: Item) -> bool:
    return item.base.startswith(("s_or_b", "s_endpgm", "s_barrier")) and split(item)[:1] in (["exec"], ["exec_lo"], [])


def _clears_clear_half(code: Sequence[Item], index: int) -> bool:
    """`v_and x, 0xffff0000, x` of `v_mul x, …` of `v_lshl_or …, 20`: a decoded number times a power of two."""
    operands = split(code[index])
    if code[index].base != "v_and_b32" or operands[1:] != ["0xffff0000", operands[0]]:
        return False
    product = find_writer(code, index, operands[0])
    if product is None or product.base not in {"v_mul_f32", "v_pk_mul_f32"}:
        return False
    place = next(order for order in range(index - 1, -1, -1) if code[order] is product)
    number = find_writer(code, place, operands[0])
    return number is not None and number.base == "v_lshl_or_b32" and split(number)[2] in {"20", "21", "22"}


def _exchanges_other_half(code: Sequence[Item], index: int) -> bool:
    """`row_shr:n bank_mask:0xa`, then `row_shl:n bank_mask:0x5` into it: lanes that lane 0's sum does not read."""
    step = re.search(r"row_shr:(\d+) row_mask:0xf bank_mask:0xa", code[index].text())
    if code[index].base != "v_mov_b32" or step is None:
        return False
    own = split(code[index])[0]
    later = code[index + 1 : index + 1 + _NEAR]
    other = next((item for item in later if item.base == "v_mov_b32" and split(item)[0] == own), None)
    return other is not None and f"row_shl:{step[1]} row_mask:0xf bank_mask:0x5" in other.text()


def _find_nan_test(code: Sequence[Item], index: int) -> Item | None:
    """`v_cmp_o x, x` or `v_cmp_u x, x`: the instruction itself, or what made the mask that it selects by."""
    item = code[index]
    test = find_maker(code, index, split(item)[-1]) if item.base.startswith("v_cndmask_b") else item
    if test is None or test.base not in {"v_cmp_o_f32", "v_cmp_u_f32"}:
        return None
    return test if len(set(split(test)[-2:])) == 1 else None


def _asks_for_nan(code: Sequence[Item], index: int) -> bool:
    """`v_cmp_o x, x` or its use beside `v_bfe …, x, 16, 1`, the bit that breaks ties when x is made bf16."""
    test = _find_nan_test(code, index)
    if test is None:
        return False
    own = split(test)[-1]
    near = code[max(0, index - _NEAR) : index + _NEAR]
    return any(item.base == "v_bfe_u32" and split(item)[1:] == [own, "16", "1"] for item in near)


def _fills_before_load(code: Sequence[Item], index: int) -> tuple[Item, ...]:
    """The loads that overwrite its zeros next, in the lanes that a mask leaves on; empty if it is anything else."""
    if not re.match(r"v_(dual_)?mov_b32", code[index].base):
        return ()
    halves = [re.findall(r"[\w.]+", half)[1:] for half in code[index].text().split("::")]
    loads = [_find_load(code, index, half[0]) if half[1:] == ["0"] else None for half in halves]
    found = tuple(item for item in loads if item is not None)
    return found if len(found) == len(halves) else ()


def _find_load(code: Sequence[Item], index: int, register: str) -> Item | None:
    """What loads a register next, if nothing but addresses of a load is put there before that."""
    for item in code[index + 1 : index + 1 + 2 * _NEAR]:
        operands = split(item)
        if any(names_register(operand, register) for operand in operands):
            if "_load_" in item.base and names_register(operands[0], register):
                return item
            is_address = item.base.startswith(_ADDRESS) or (item.base == "v_mov_b32" and operands[1].startswith("s"))
            if not is_address or not names_register(operands[0], register):
                return None
    return None


def _keeps_operand_nan(code: Sequence[Item], index: int) -> bool:
    """The test for NaN, its use, or the bit that breaks ties, when an operand of a later product is rounded to bf16."""
    item, operands = code[index], split(code[index])
    breaks_ties = item.base == "v_bfe_u32" and operands[2:] == ["16", "1"]
    if not breaks_ties and _find_nan_test(code, index) is None:
        return False
    return any(item.base.startswith(("v_mfma", "v_wmma")) for item in code[index:])


def _waits_again(code: Sequence[Item], index: int) -> bool:
    if not code[index].base.startswith(("s_waitcnt", "s_wait_")):
        return False
    return not any(item.base.startswith("s_barrier") for item in code[index + 1 : index + 3])


def _is_limit(code: Sequence[Item], index: int) -> bool:
    operands = split(code[index])
    if code[index].base in {"v_mov_b32", "s_mov_b32"}:
        return operands[1] in _LIMITS
    if code[index].base == "v_cndmask_b32":
        return operands[1] in _LIMITS and operands[2] == operands[0]
    if code[index].base not in {"v_cmp_nlt_f32", "v_cmp_ngt_f32"}:
        return False
    own = [item for item in reversed(code[:index]) if item.base == "s_mov_b32" and split(item)[0] in operands[1:]]
    return bool(_LIMITS & set(operands)) or (bool(own) and split(own[0])[1] in _LIMITS)


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

_QUANTISES = re.compile(r"(_and_mul|rms_norm)_(fp8|mxfp4)$|^quant_(fp8|mx)")
_FIRST_LANES = (
    "switches on lanes of which only the first of each group stores next, its scale: that has stored the group's first "
    "number, as a group that has none has no scale"
)

RULES: Mapping[str, Rule] = {
    "gives a register the value that it has: x + 0, x | 0, x << 0, its own halves": _is_identity,
    "one of the corrections of an f32 division, whose other ones leave it within a step of f32": corrects_division,
    "a residual of an f32 division where its register holds another, or the high half of an offset: some 2^-22": (
        repeats_residual
    ),
    "the second correction of a quotient of 32 bits: its estimate is one off at most for dividends below 2^30": (
        corrects_twice
    ),
    "the first estimate of a quotient, which is as good after two corrections if it was near 0": starts_division,
    "scales what is below 2^-62 and added to 1": _scales_beside_one,
    "decides whether exp2 is of a + 64 and scaled back by 2^-64, or of a: the same number": _asks_for_scaling,
    "the sign of a quotient of program numbers and counts, which are never negative": signs_quotient,
    "gives a quotient of program numbers and counts its sign, which is 0: x ^ 0, x - 0": applies_sign,
    "the upper half of an offset where its register holds 0, too: signs of indices, sizes and strides": extends_offset,
    "repairs 1 / x where x is infinite, subnormal or 0: a sum of softmax is 0, where 0 is chosen, or 1 and more": (
        repairs_sum
    ),
    "adds the low part of log2 e, 2^-25 of the product that it corrects: within the rule's 16 steps": _adds_low_part,
    "chooses the lane that stores: the emulator reports lanes that store unlike numbers at one place, and was silent": (
        _chooses_lane
    ),
    "clears bits that are 0: a code of 3 bits of mantissa at most, times a power of two": _clears_clear_half,
    "half of an exchange between lanes of which the first one's sum is read, which takes the other half": (
        _exchanges_other_half
    ),
    "what a signed division by a power of two adds to negative sizes, and there are none": biases_negative,
    "asks whether log's argument is subnormal: a sum of softmax is 0, where both ways lead to -inf, or 1 and more": (
        _scales_log
    ),
    "rounds a decoded operand, which bf16 holds exactly; its NaN is 0x7fc00000, which any rounding keeps": (
        _keeps_operand_nan
    ),
    "a wait that another one covers: the emulator knows each register in flight, and was silent": _waits_again,
}
"""Classes that the instruction and its neighbours decide."""
