"""LLVM's mnemonics of every generation → the core's names: one name per meaning."""

from __future__ import annotations

import functools
import re

# RDNA3 and RDNA4 renamed what CDNA kept (RDNA3 ISA §1.? "Instruction name changes").
RENAMES = (
    (r"^v_dual_", "v_"),
    (r"^v_(add|sub|subrev)_nc_", r"v_\1_"),
    (r"^v_add_co_ci_u32$", "v_addc_co_u32"),
    (r"^v_sub_co_ci_u32$", "v_subb_co_u32"),
    (r"^v_subrev_co_ci_u32$", "v_subbrev_co_u32"),
    (r"^v_mad_co_", "v_mad_"),
    (r"_num_f(16|32|64)$", r"_f\1"),
    (r"_dx9_zero_f32$", "_legacy_f32"),
    (r"^v_clz_i32_u32$", "v_ffbh_u32"),
    (r"^v_ctz_i32_b32$", "v_ffbl_b32"),
    (r"^v_cls_i32$", "v_ffbh_i32"),
    (r"^v_cvt_pk_rtz_f16_f32$", "v_cvt_pkrtz_f16_f32"),
    (r"^v_cvt_pk_norm_(i16|u16)_f32$", r"v_cvt_pknorm_\1_f32"),
    (r"^v_cvt_floor_i32_f32$", "v_cvt_flr_i32_f32"),
    (r"^v_cvt_nearest_i32_f32$", "v_cvt_rpi_i32_f32"),
    (r"^v_accvgpr_(read|write|mov)_b32$", "v_mov_b32"),
    (r"^v_cmp(x?)_t_(f16|f32|f64)$", r"v_cmp\1_tru_\2"),
    (r"^v_mac_(f16|f32)$", r"v_mad_\1"),
    (r"^v_(madmk|madak)_(f16|f32)$", r"v_mad_\2"),
    (r"^v_(fmac|fmamk|fmaak)_(f16|f32|f64|legacy_f32)$", r"v_fma_\2"),
    (r"^v_dot(2c|2acc)_f32_(f16|bf16)$", r"v_dot2_f32_\2"),
    (r"^v_dot(4|8)c_i32_(i8|i4)$", r"v_dot\1_i32_\2"),
    (r"^v_pk_fmac_f16$", "v_pk_fma_f16"),
    (r"^v_(mad|fma)_legacy_f16$", r"v_\1_f16"),
    (r"^v_mad_legacy_(u16|i16)$", r"v_mad_\1"),
    (r"^s_(and|or)_not1_", r"s_\1n2_"),
    (r"^s_(and|or)_not0_", r"s_\1n1_"),
    (r"^s_ctz_i32_", "s_ff1_i32_"),
    (r"^s_clz_i32_u(32|64)$", r"s_flbit_i32_b\1"),
    (r"^s_cls_i32$", "s_flbit_i32"),
    (r"^s_(add|sub)_co_([iu]32)$", r"s_\1_\2"),
    (r"^s_add_co_ci_u32$", "s_addc_u32"),
    (r"^s_sub_co_ci_u32$", "s_subb_u32"),
    (r"^s_(add|sub)_nc_u64$", r"s_\1_u64"),
    (r"^s_addk_co_i32$", "s_addk_i32"),
    (r"^s_(fmac|fmaak|fmamk)_f32$", "s_fma_f32"),
    (r"^s_(min|max)imum_f32$", r"s_\1imum_f32"),
)
# Instructions whose destination is also their last source.
ACCUMULATING = re.compile(r"^(v_dual_|v_)?(v_)?(fmac|mac|dot\dc|dot2acc|pk_fmac)_")
TRANSCENDENTAL = re.compile(r"^v_(s_)?(exp|log|rcp|rcp_iflag|rsq|sqrt|sin|cos)_f(16|32|64)$")
NOTHING = frozenset(
    (
        "s_nop",
        "s_clause",
        "s_delay_alu",
        "s_setprio",
        "s_sendmsg",
        "s_sendmsghalt",
        "s_icache_inv",
        "s_dcache_inv",
        "s_dcache_wb",
        "s_gl1_inv",
        "s_dcache_inv_vol",
        "s_dcache_wb_vol",
        "s_waitcnt_depctr",
        "s_wait_alu",
        "s_wait_idle",
        "s_wait_event",
        "s_set_inst_prefetch_distance",
        "s_inst_prefetch",
        "s_ttracedata",
        "s_ttracedata_imm",
        "s_barrier_leave",
        "s_sethalt",
        "s_waitcnt_expcnt",
        "s_wait_expcnt",
        "s_wait_samplecnt",
        "s_wait_bvhcnt",
        "s_prefetch_inst",
        "s_prefetch_inst_pc_rel",
        "s_prefetch_data",
        "s_prefetch_data_pc_rel",
        "s_buffer_prefetch_data",
        "s_incperflevel",
        "s_decperflevel",
        "s_wakeup",
    )
)
CACHE_NOTHING = frozenset(
    (
        "buffer_inv",
        "buffer_invl2",
        "buffer_gl0_inv",
        "buffer_gl1_inv",
        "buffer_wbinvl1",
        "buffer_wbinvl1_vol",
        "global_inv",
    )
)
CACHE_WRITE_BACK = frozenset(("buffer_wbl2", "global_wb", "global_wbinv"))

ATOMICS = {
    "swap": 0,
    "wrxchg": 0,
    "storexchg": 0,
    "cmpswap": 1,
    "cmpst": 1,
    "cmpstore": 1,
    "add": 2,
    "sub": 3,
    "smin": 4,
    "umin": 5,
    "smax": 6,
    "umax": 7,
    "and": 8,
    "or": 9,
    "xor": 10,
    "inc": 11,
    "dec": 12,
    "fadd": 13,
    "fmin": 14,
    "fmax": 15,
    "pk_add_f16": 16,
    "pk_add_bf16": 17,
    "rsub": 18,
}  # as atomic_result in core/access.cpp


@functools.cache
def core_name(base: str) -> str:
    """The core's name of a mnemonic without encoding suffix."""
    for pattern, replacement in RENAMES:
        base = re.sub(pattern, replacement, base)
    return base


@functools.cache
def parse_atomic(body: str) -> tuple[int, bool] | None:
    """`add_x2`, `min_i32`, `add_f64` → (number in ATOMICS, whether data is 64 bits); None: unknown."""
    if body in ("pk_add_f16", "pk_add_bf16"):
        return ATOMICS[body], False
    match = re.fullmatch(r"([a-z]+)(?:_num)?(?:_x2|_(f32|f64|[iub]32|[iub]64))?", body)
    if not match:
        return None
    name, kind = match[1], match[2] or ""
    if name in ("min", "max") and kind:
        name = {"f": "f", "i": "s", "u": "u"}[kind[0]] + name
    elif name == "add" and kind.startswith("f"):
        name = "fadd"
    wide = body.endswith("_x2") or kind.endswith("64")
    return (ATOMICS[name], wide) if name in ATOMICS else None


@functools.cache
def parse_width(body: str) -> tuple[int, bool, bool, bool] | None:
    """`ushort`, `dwordx4`, `u16_d16_hi`, `d16_hi_b16` → (bytes, signed, d16, d16_hi); None: unknown."""
    high = "d16_hi" in body
    d16 = "d16" in body
    body = body.replace("_d16_hi", "").replace("d16_hi_", "").replace("_d16", "").replace("d16_", "")
    sizes = {
        "ubyte": (1, False),
        "sbyte": (1, True),
        "byte": (1, False),
        "ushort": (2, False),
        "sshort": (2, True),
        "short": (2, False),
        "u8": (1, False),
        "i8": (1, True),
        "b8": (1, False),
        "u16": (2, False),
        "i16": (2, True),
        "b16": (2, False),
        "dword": (4, False),
        "dwordx2": (8, False),
        "dwordx3": (12, False),
        "dwordx4": (16, False),
        "b32": (4, False),
        "b64": (8, False),
        "b96": (12, False),
        "b128": (16, False),
    }
    if body not in sizes:
        return None
    return (*sizes[body], d16, high)
