"""The patterns that recognise classes of equivalent mutants: each on code that has it, and on code that almost has."""

from __future__ import annotations

import assembly
import pytest

from harness.equivalent import MNEMONICS, explain

SIGN = "s_xor_b32 s4, s5, s6\ns_ashr_i32 s4, s4, 31\n"
ROUNDED = "v_bfe_u32 v11, v10, 16, 1\nv_cmp_o_f32 vcc, v10, v10\nv_cndmask_b32 v12, v13, v12, vcc"
DIVISION = "v_div_scale_f32 v10, vcc, v2, v2, 1.0\nv_rcp_f32 v11, v10\n{between}v_fma_f32 v12, -v10, v11, 1.0\n{last}"
CORRECTION = "v_fmac_f32 v11, v12, v11"
STORE = "s_and_saveexec_b64 s[6:7], s[4:5]\n{between}global_store_dword v1, v2, s[14:15]\ns_or_b64 exec, exec, s[6:7]"


def find(body: str, text: str, *, op: str = "gemm", dtypes: tuple[str, ...] = ("f32",), number: int = 0) -> str:
    """The class of the `number`-th instruction that starts with `text`."""
    code = assembly.build("gfx942", body).instructions
    places = [order for order, item in enumerate(code) if item.text().startswith(text)]
    return explain(code, places[number], op, dict(zip(("a", "b"), dtypes, strict=False)))


def test_no_mnemonic_is_in_two_classes() -> None:
    names = [name for members in MNEMONICS.values() for name in members]
    assert len(names) == len(set(names))


def test_the_sign_of_a_quotient() -> None:
    assert "which is 0" in find(f"{SIGN}s_xor_b32 s8, s8, s4", "s_xor_b32 s8")
    assert "which is 0" in find(f"{SIGN}s_sub_i32 s8, s8, s4", "s_sub_i32 s8")
    assert not find(f"{SIGN}s_xor_b32 s8, s9, s4", "s_xor_b32 s8")
    assert not find("s_ashr_i32 s4, s5, 30\ns_xor_b32 s8, s8, s4", "s_xor_b32 s8")


def test_corrections_of_a_division_are_found_however_far_apart() -> None:
    between = "v_add_f32 v20, v21, v22\n" * 40
    assert "corrections" in find(DIVISION.format(between=between, last=CORRECTION), "v_fmac_f32")
    cut = DIVISION.format(between="s_cbranch_scc0 .Lnext\n.Lnext:\n", last=CORRECTION)
    assert not find(cut, "v_fmac_f32")
    assert not find(DIVISION.format(between="", last="v_fmac_f32 v11, v13, v11"), "v_fmac_f32")


def test_the_low_part_of_a_constant() -> None:
    assert "low part" in find("v_fmamk_f32 v10, v2, 0xb2a5705f, v10", "v_fmamk")
    assert not find("v_fmamk_f32 v10, v2, 0xb2a5705f, v11", "v_fmamk")
    assert not find("v_fmamk_f32 v10, v2, 0x3fb8aa3b, v10", "v_fmamk")


@pytest.mark.parametrize("text", ["v_cmp_o_f32", "v_cndmask_b32"])
def test_a_question_for_nan_matters_where_inputs_have_low_bits(text: str) -> None:
    assert "low half of every NaN" in find(ROUNDED, text, dtypes=("bf16", "i32"))
    assert not find(ROUNDED, text, dtypes=("bf16", "f32"))
    assert not find(ROUNDED.replace("16, 1", "20, 1"), text, dtypes=("bf16",))


def test_the_lane_that_stores() -> None:
    chosen = "v_cmp_eq_u32 s[4:5], 0, v0\n"
    assert "chooses the lane" in find(chosen + STORE.format(between=""), "s_and_saveexec")
    assert "chooses the lane" in find(chosen + STORE.format(between=""), "v_cmp_eq")
    loads = STORE.format(between="global_load_dword v2, v1, s[8:9]\n")
    assert not find(chosen + loads, "s_and_saveexec")
    assert not find(chosen.replace("eq", "gt") + STORE.format(between=""), "s_and_saveexec")


def test_zeros_behind_k_matter_beside_infinities() -> None:
    body = "v_mov_b32 v10, 0\ns_and_saveexec_b64 s[6:7], vcc\ns_cbranch_execz .Lend\n"
    body += "v_lshl_add_u64 v[10:11], v[4:5], 0, s[4:5]\nglobal_load_ubyte v10, v[10:11], off\n.Lend:\n"
    assert "without infinities" in find(body, "v_mov_b32_e32 v10", op="gemm_fp8", dtypes=("e4m3", "e4m3"))
    assert not find(body, "v_mov_b32_e32 v10", op="gemm_fp8", dtypes=("e5m2", "e5m2"))
    read = body.replace("s_cbranch", "v_add_f32 v12, v10, v10\ns_cbranch")
    assert not find(read, "v_mov_b32_e32 v10", op="gemm_fp8", dtypes=("e4m3", "e4m3"))
    halves = (
        "v_mov_b32 v11, 0\nv_mov_b32 v11, {upper}\nv_add_co_u32 v10, vcc, s2, v4\nv_addc_co_u32 v11, vcc, v5, v11, vcc"
    )
    apart = halves + "\nglobal_load_ubyte v11, v[10:11], off"
    found = [
        find(apart.format(upper=upper), "v_mov_b32_e32 v11", op="gemm_fp8", dtypes=("e4m3",)) for upper in ("s4", "1")
    ]
    assert "without infinities" in found[0]
    assert not found[1]


def test_zeros_of_a_narrow_operand_may_stand_beside_a_wide_one() -> None:
    body = "v_mov_b32 v10, 0\ns_and_saveexec_b64 s[6:7], vcc\ns_cbranch_execz .Lend\n"
    body += "global_load_{size} v10, v[4:5], off\n.Lend:\n"
    narrow = body.format(size="ubyte")
    assert "without infinities" in find(narrow, "v_mov_b32_e32 v10", dtypes=("bf16", "u8"))
    assert not find(narrow, "v_mov_b32_e32 v10", dtypes=("bf16", "e5m2"))
    assert not find(body.format(size="ushort"), "v_mov_b32_e32 v10", dtypes=("bf16", "u8"))


def test_a_division_whose_divisor_is_negated_apart() -> None:
    body = "v_div_scale_f32 v10, vcc, v2, v2, 1.0\nv_rcp_f32 v11, v10\nv_xor_b32 v10, {sign}, v10\n"
    body += f"v_fma_f32 v12, v10, v11, 1.0\n{CORRECTION}"
    assert "corrections" in find(body.format(sign="0x80000000"), "v_fmac_f32")
    assert not find(body.format(sign="0x40000000"), "v_fmac_f32")


def test_a_residual_over_what_is_small() -> None:
    two = "v_div_scale_f32 v10, vcc, v2, v2, 1.0\nv_rcp_f32 v11, v10\n{before}v_fma_f32 {own}, -v10, v11, 1.0\n"
    cases = (
        ("v_fma_f32 v12, -v10, v15, v14\n", "v12", "register holds another"),
        ("v_lshlrev_b64 v[12:13], 1, v[4:5]\n", "v13", "register holds another"),
        ("v_lshlrev_b64 v[12:13], 1, v[4:5]\n", "v12", ""),
        ("v_mul_f32 v12, v2, v3\n", "v12", ""),
        ("", "v12", ""),
    )
    for before, own, reason in cases:
        assert reason in find(two.format(before=before, own=own), f"v_fma_f32 {own}, -v10, v11")
        assert bool(find(two.format(before=before, own=own), f"v_fma_f32 {own}, -v10, v11")) == bool(reason)


QUOTIENT = """
s_sub_u32 s5, s4, s6
s_cmp_ge_u32 s4, s6
s_cselect_b32 s4, s5, s4
s_sub_u32 s5, s4, {divisor}
s_cmp_ge_u32 s4, {divisor}
s_cselect_b32 s4, s5, s4
"""
QUOTIENT_OF_LANES = """
v_sub_u32 v5, v4, v6
v_cmp_le_u32 vcc, v6, v4
v_cndmask_b32 v4, v4, v5, vcc
v_sub_u32 v5, v4, {divisor}
v_cmp_le_u32 vcc, {divisor}, v4
v_cndmask_b32 v4, v4, v5, vcc
"""


@pytest.mark.parametrize(
    ("body", "texts", "same", "another"),
    [
        (QUOTIENT, ("s_sub_u32", "s_cmp_ge_u32", "s_cselect_b32"), "s6", "s7"),
        (QUOTIENT_OF_LANES, ("v_sub_u32", "v_cmp_le_u32", "v_cndmask_b32"), "v6", "v7"),
    ],
)
def test_a_quotient_is_corrected_once(body: str, texts: tuple[str, ...], same: str, another: str) -> None:
    for text in texts:
        assert "second correction" in find(body.format(divisor=same), text, number=1)
        assert not find(body.format(divisor=same), text)
        assert not find(body.format(divisor=another), text, number=1)


def test_a_constant_may_stand_in_a_register() -> None:
    body = "s_mov_b32 s4, 0x3fb8aa3b\ns_mov_b32 s5, {limit}\nv_mul_f32 v10, s4, v2\nv_cmp_gt_f32 vcc, s5, v10"
    assert "exp2" in find(body.format(limit="0xc2fc0000"), "v_mul_f32")
    assert "exp2" in find(body.format(limit="0xc2fc0000"), "v_cmp_gt_f32")
    assert not find(body.format(limit="0xc2fc0001"), "v_cmp_gt_f32")
    overwritten = body.format(limit="0xc2fc0000").replace("v_cmp", "s_mov_b64 s[4:5], 0\nv_cmp")
    assert not find(overwritten, "v_cmp_gt_f32")


def test_what_is_added_to_a_size_before_it_is_shifted() -> None:
    body = "s_ashr_i32 s5, s4, 31\ns_lshr_b32 s5, s5, {shift}\ns_add_i32 s4, s4, s5"
    assert "there are none" in find(body.format(shift=27), "s_add_i32")
    assert not find(body.format(shift=8), "s_add_i32")
    assert not find(body.format(shift=27).replace("s4, s4, s5", "s7, s4, s5"), "s_add_i32")


def test_the_sign_of_a_remainder() -> None:
    body = "s_abs_i32 s5, {of}\ns_ashr_i32 s6, s4, 31\ns_xor_b32 s8, s8, s6"
    assert "which is 0" in find(body.format(of="s4"), "s_xor_b32 s8")
    assert not find(body.format(of="s7"), "s_xor_b32 s8")


def test_the_lanes_of_scales_have_stored_before() -> None:
    body = "s_and_saveexec_b64 s[6:7], s[4:5]\nglobal_store_dword v1, v2, s[14:15]\ns_or_b64 exec, exec, s[6:7]\n"
    body += "v_and_b32 v10, 0xf8, v0\nv_cmp_{test}_u32 vcc, 0, v10\ns_and_saveexec_b64 s[6:7], vcc\n"
    first = body.format(test="eq")
    assert "its scale" in find(first, "s_or_b64", op="quant_fp8_group")
    assert not find(first, "s_or_b64", op="gemm")
    assert not find(body.format(test="ne"), "s_or_b64", op="quant_fp8_group")
    assert not find(first.replace("global_store_dword v1, v2, s[14:15]", "v_mov_b32 v2, v3"), "s_or_b64", op="quant_mx")


def test_bits_of_decoded_numbers() -> None:
    body = "v_lshl_or_b32 v10, v2, 20, v3\nv_mul_f32 v10, s2, v10\nv_and_b32 v10, 0xffff0000, v10"
    assert "bits that are 0" in find(body, "v_and_b32_e32 v10")
    assert not find(body.replace("20, v3", "8, v3"), "v_and_b32_e32 v10")
    assert not find(body.replace("v_mul", "v_add"), "v_and_b32_e32 v10")


def test_half_of_an_exchange() -> None:
    first = "v_mov_b32_dpp v10, v10 row_shr:4 row_mask:0xf bank_mask:0xa\n"
    second = "v_mov_b32_dpp v10, v11 row_shl:4 row_mask:0xf bank_mask:0x5"
    assert "half of an exchange" in find(first + second, "v_mov_b32_dpp v10, v10")
    assert not find(first + second, "v_mov_b32_dpp v10, v11")
    assert not find(first + second.replace("shl:4", "shl:8"), "v_mov_b32_dpp v10, v10")


def test_zeros_behind_rows_of_whole_blocks() -> None:
    body = "v_mov_b32 v10, 0\ns_and_saveexec_b64 s[6:7], vcc\nglobal_load_dword v10, v1, s[8:9]"
    assert "multiples of 32" in find(body, "v_mov_b32_e32 v10", op="silu_and_mul_mxfp4")
    assert not find(body, "v_mov_b32_e32 v10", op="rms_norm_mxfp4")
    assert not find(body.replace("v10, 0", "v10, 1"), "v_mov_b32_e32 v10", op="silu_and_mul_mxfp4")


SIGN_OF_LANES = "s_ashr_i32 s3, s3, 31\nv_ashrrev_i32 v5, {shift}, v6\nv_xor_b32 v4, s3, v5\n"


def test_the_sign_of_a_quotient_of_lanes() -> None:
    body = SIGN_OF_LANES + "v_xor_b32 v8, v8, v4\nv_sub_u32 v8, {from_}, v4"
    whole = body.format(shift=31, from_="v8")
    assert "which is 0" in find(whole, "v_xor_b32_e32 v8")
    assert "which is 0" in find(whole, "v_sub_u32")
    assert not find(body.format(shift=30, from_="v8"), "v_xor_b32_e32 v8")
    assert not find(body.format(shift=31, from_="v9"), "v_sub_u32")


def test_a_sign_of_lanes_over_another() -> None:
    body = SIGN_OF_LANES.format(shift=31) + "{between}v_ashrrev_i32 v5, 31, v7\nv_xor_b32 v4, s3, v5"
    assert "never negative" in find(body.format(between=""), "v_xor_b32_e32 v4", number=1)
    assert not find(body.format(between=""), "v_xor_b32_e32 v4")
    assert not find(body.format(between="v_add_u32 v4, v1, v2\n"), "v_xor_b32_e32 v4", number=1)


ADDRESS = "v_add_co_u32 v10, vcc, s2, v1\nv_addc_co_u32 v11, vcc, {reader}, vcc\nglobal_load_ubyte v12, v[10:11], off"
SKIPS = "s_and_saveexec_b64 s[6:7], s[4:5]\ns_cbranch_execz .Lnext\n.Lnext:\n"


@pytest.mark.parametrize(
    ("before", "upper", "text"),
    [
        ("v_mov_b32 v3, 0\n", "v_ashrrev_i32 v3, 31, v1\n", "v_ashrrev"),
        ("s_ashr_i32 s9, s8, 31\nv_mov_b32 v3, 0\n", "v_mov_b32 v3, s9\n", "v_mov_b32_e32 v3, s9"),
        ("s_ashr_i32 s9, s8, 31\nv_mul_lo_u32 v3, v6, s9\n", "v_mul_lo_u32 v3, v7, s9\n", "v_mul_lo_u32 v3, v7"),
        (
            "s_ashr_i32 s9, s8, 31\ns_lshl_b64 s[10:11], s[8:9], 1\nv_mov_b32 v3, 0\n", "v_mov_b32 v3, s11\n",
            "v_mov_b32_e32 v3, s11",
        ),
    ],
)  # fmt: skip
def test_upper_halves_of_offsets(before: str, upper: str, text: str) -> None:
    read = ADDRESS.format(reader="v3, v4")
    assert "upper half" in find(before + SKIPS + upper + read, text)
    assert not find(before + SKIPS + upper + read.replace("v3, v4", "v5, v4"), text)
    assert not find(before + "v_add_u32 v3, v1, v2\n" + SKIPS + upper + read, text)
    changed = before.replace("31", "30").replace("v_mov_b32 v3, 0", "v_mov_b32 v3, 1") + SKIPS
    assert not find(changed + upper + read, text)


def test_a_sum_of_softmax_needs_no_repair() -> None:
    body = "v_div_fixup_f32 v6, v6, v8, {of}\nv_cmp_eq_f32 vcc, {number}, v8\nv_cndmask_b32 v6, v6, 0, vcc"
    assert "repairs" in find(body.format(of="1.0", number="0"), "v_div_fixup")
    assert not find(body.format(of="v9", number="0"), "v_div_fixup")
    assert not find(body.format(of="1.0", number="v9"), "v_div_fixup")


def test_the_scale_of_what_is_added_to_one_over_its_argument() -> None:
    body = "v_exp_f32 v0, {argument}\nv_not_b32 v1, 63\nv_cndmask_b32 v1, 0, v1, vcc\nv_ldexp_f32 v0, v0, v1\n{use}"
    added = "v_add_f32 v0, 1.0, v0"
    assert "added to 1" in find(body.format(argument="v1", use=added), "v_not_b32")
    assert not find(body.format(argument="v2", use=added), "v_not_b32")
    assert not find(body.format(argument="v1", use="v_add_f32 v0, 2.0, v0"), "v_not_b32")
