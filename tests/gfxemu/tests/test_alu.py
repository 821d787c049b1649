"""Vector and scalar instructions against NumPy: one row an instruction, edge values and random bits in every lane."""

# ruff: noqa: ARG005  # a golden function takes all three inputs
from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

import assembly

ALL = tuple(assembly.LANES)
GFX9 = ("gfx90a", "gfx942", "gfx950")
RDNA = ("gfx1100", "gfx1201")
Golden = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
EDGES = np.array(
    [
        0,
        1,
        0x7FFFFFFF,
        0x80000000,
        0xFFFFFFFF,
        0x3F800000,
        0x7F800000,
        0xFF800000,
        0x7FC00000,
        0x00000001,
        0x007FFFFF,
        0x00800000,
        0x7F7FFFFF,
        0x4B000000,
        0x3F000000,
        0xBF800000,
    ],
    np.uint32,
)


def u32(x: np.ndarray) -> np.ndarray:
    return (x & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def f32(x: np.ndarray) -> np.ndarray:
    return u32(x).view(np.float32)


def f64(x: np.ndarray) -> np.ndarray:
    return x.view(np.float64)


def i32(x: np.ndarray) -> np.ndarray:
    return u32(x).view(np.int32)


def f16(x: np.ndarray) -> np.ndarray:
    return u32(x).astype(np.uint16).view(np.float16)


def low(x: np.ndarray) -> np.ndarray:
    """A 32- or 16-bit result as the 64-bit register pair."""
    width = {2: np.uint16, 4: np.uint32}[x.dtype.itemsize]
    return x.view(width).astype(np.uint64)


def number_min(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    out = np.fmin(a, b)
    return np.where((a == b) & (np.signbit(a) | np.signbit(b)), np.where(np.signbit(a), a, b), out)


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Extended precision holds the 48-bit product and, but for ties that random bits do not hit, what matters of c."""
    return (a.astype(np.longdouble) * b + c).astype(np.float32)


ROWS: list[tuple[str, tuple[str, ...], str, Golden]] = [
    ("add_u32", GFX9, "v_add_u32 v8, v2, v4", lambda a, b, c: low(u32(a) + u32(b))),
    ("add_nc_u32", RDNA, "v_add_nc_u32 v8, v2, v4", lambda a, b, c: low(u32(a) + u32(b))),
    ("sub_f32", ALL, "v_sub_f32 v8, v2, v4", lambda a, b, c: low(f32(a) - f32(b))),
    ("mul_f32_neg_abs", ALL, "v_mul_f32 v8, -v2, |v4|", lambda a, b, c: low(-f32(a) * np.abs(f32(b)))),
    ("fma_f32", ALL, "v_fma_f32 v8, v2, v4, v6", lambda a, b, c: low(fma(f32(a), f32(b), f32(c)))),
    (
        "add_f64",
        ("gfx90a", "gfx942", "gfx950", "gfx1100"),
        "v_add_f64 v[8:9], v[2:3], v[4:5]",
        lambda a, b, c: (f64(a) + f64(b)).view(np.uint64),
    ),
    ("mul_lo_u32", ALL, "v_mul_lo_u32 v8, v2, v4", lambda a, b, c: low(u32(a) * u32(b))),
    (
        "mul_hi_u32",
        ALL,
        "v_mul_hi_u32 v8, v2, v4",
        lambda a, b, c: low((u32(a).astype(np.uint64) * u32(b) >> np.uint64(32)).astype(np.uint32)),
    ),
    ("lshlrev_b32", ALL, "v_lshlrev_b32 v8, v2, v4", lambda a, b, c: low(u32(b) << (u32(a) & np.uint32(31)))),
    (
        "ashrrev_i32",
        ALL,
        "v_ashrrev_i32 v8, v2, v4",
        lambda a, b, c: low(i32(b) >> (u32(a) & np.uint32(31)).astype(np.int32)),
    ),
    ("lshlrev_b64", ALL, "v_lshlrev_b64 v[8:9], v2, v[4:5]", lambda a, b, c: b << (a & np.uint64(63))),
    (
        "lshl_add_u64",
        ("gfx942", "gfx950"),
        "v_lshl_add_u64 v[8:9], v[2:3], 3, v[4:5]",
        lambda a, b, c: (a << np.uint64(3)) + b,
    ),
    (
        "mad_u64_u32",
        ("gfx90a", "gfx942", "gfx950", "gfx1100"),
        "v_mad_u64_u32 v[8:9], s[20:21], v2, v4, v[6:7]".replace("s[20:21]", "{m}"),
        lambda a, b, c: u32(a).astype(np.uint64) * u32(b) + c,
    ),
    ("bfe_u32", ALL, "v_bfe_u32 v8, v2, 5, 9", lambda a, b, c: low(u32(a) >> np.uint32(5) & np.uint32(0x1FF))),
    (
        "bfe_i32",
        ALL,
        "v_bfe_i32 v8, v2, 5, 9",
        lambda a, b, c: low((u32(a) << np.uint32(18)).view(np.int32) >> np.int32(23)),
    ),
    ("bfi_b32", ALL, "v_bfi_b32 v8, v2, v4, v6", lambda a, b, c: low((u32(a) & u32(b)) | (~u32(a) & u32(c)))),
    (
        "alignbit",
        ALL,
        "v_alignbit_b32 v8, v2, v4, 12",
        lambda a, b, c: low(u32((u32(a).astype(np.uint64) << np.uint64(32) | u32(b)) >> np.uint64(12))),
    ),
    (
        "perm",
        ALL,
        "s_mov_b32 s22, 0x07060100\nv_perm_b32 v8, v2, v4, s22",
        lambda a, b, c: low((u32(a) & np.uint32(0xFFFF0000)) | (u32(b) & np.uint32(0xFFFF))),
    ),
    ("add3", ALL, "v_add3_u32 v8, v2, v4, v6", lambda a, b, c: low(u32(a) + u32(b) + u32(c))),
    (
        "min_f32",
        ("gfx90a", "gfx942", "gfx950", "gfx1100"),
        "v_min_f32 v8, v2, v4",
        lambda a, b, c: low(number_min(f32(a), f32(b)).astype(np.float32)),
    ),
    ("max_i32", ALL, "v_max_i32 v8, v2, v4", lambda a, b, c: low(np.maximum(i32(a), i32(b)))),
    ("cvt_f16_f32", ALL, "v_cvt_f16_f32 v8, v2", lambda a, b, c: low(f32(a).astype(np.float16))),
    ("cvt_f32_f16", ALL, "v_cvt_f32_f16 v8, v2", lambda a, b, c: low(f16(a).astype(np.float32))),
    ("cvt_f32_i32", ALL, "v_cvt_f32_i32 v8, v2", lambda a, b, c: low(i32(a).astype(np.float32))),
    (
        "cvt_u32_f32",
        ALL,
        "v_cvt_u32_f32 v8, v2",
        lambda a, b, c: low(
            np.clip(np.nan_to_num(np.trunc(f32(a).astype(np.float64)), nan=0), 0, 2**32 - 1).astype(np.uint32)
        ),
    ),
    (
        "cvt_i32_f32",
        ALL,
        "v_cvt_i32_f32 v8, v2",
        lambda a, b, c: low(
            np.clip(np.nan_to_num(np.trunc(f32(a).astype(np.float64)), nan=0), -(2**31), 2**31 - 1).astype(np.int32)
        ),
    ),
    ("rndne", ALL, "v_rndne_f32 v8, v2", lambda a, b, c: low(np.rint(f32(a)))),
    ("ldexp", ALL, "v_ldexp_f32 v8, v2, 3", lambda a, b, c: low(np.ldexp(f32(a), 3))),
    ("add_f16", ("gfx90a", "gfx942", "gfx950"), "v_add_f16 v8, v2, v4", lambda a, b, c: low(f16(a) + f16(b))),
    ("mul_f16", ("gfx90a", "gfx942", "gfx950"), "v_mul_f16 v8, v2, v4", lambda a, b, c: low(f16(a) * f16(b))),
    (
        "pk_mul_f16",
        ALL,
        "v_pk_mul_f16 v8, v2, v4",
        lambda a, b, c: low(
            (u32(a).view(np.float16).reshape(-1, 2) * u32(b).view(np.float16).reshape(-1, 2))
            .reshape(-1)
            .view(np.uint32)
        ),
    ),
    (
        "pk_add_f32",
        GFX9,
        "v_pk_add_f32 v[8:9], v[2:3], v[4:5]",
        lambda a, b, c: (a.view(np.float32) + b.view(np.float32)).view(np.uint64),
    ),
    (
        "pk_fma_f32",
        GFX9,
        "v_pk_mul_f32 v[8:9], v[2:3], v[4:5] op_sel_hi:[1,0]",
        lambda a, b, c: (a.view(np.float32).reshape(-1, 2) * f32(b)[:, None]).reshape(-1).view(np.uint64),
    ),
    (
        "cvt_pk_bf16",
        ("gfx950",),
        "v_cvt_pk_bf16_f32 v8, v2, v4",
        lambda a, b, c: low(np.stack([f32(a), f32(b)], -1).astype(ml_dtypes.bfloat16).view(np.uint32).reshape(-1)),
    ),
    ("bitop3", ("gfx950",), "v_bitop3_b32 v8, v2, v4, v6 bitop3:0x96", lambda a, b, c: low(u32(a) ^ u32(b) ^ u32(c))),
    (
        "sdwa",
        GFX9,
        "v_add_u32_sdwa v8, v2, sext(v4) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1",
        lambda a, b, c: low((u32(a) >> np.uint32(8) & np.uint32(255)) + (i32(b) >> np.int32(16)).view(np.uint32)),
    ),
    (
        "s_bfe_u32",
        ALL,
        "s_bfe_u32 s22, s20, 0x80004\nv_mov_b32 v8, s22",
        lambda a, b, c: np.full(len(a), 0xA5, np.uint64),
    ),
    (
        "s_mul_hi_u32",
        ALL,
        "s_mul_hi_u32 s22, s20, s20\nv_mov_b32 v8, s22",
        lambda a, b, c: np.full(len(a), 0x5A5A5A5A**2 >> 32, np.uint64),
    ),
    (
        "s_ashr_i32",
        ALL,
        "s_brev_b32 s22, 1\ns_ashr_i32 s22, s22, 31\nv_mov_b32 v8, s22",
        lambda a, b, c: np.full(len(a), 0xFFFFFFFF, np.uint64),
    ),
]
CASES = [
    pytest.param(arch, text, golden, id=f"{name}-{arch}") for name, arches, text, golden in ROWS for arch in arches
]


def make_inputs(arch: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random bits with edge values sprinkled in."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(3):
        words = rng.integers(0, 2**32, (4 * assembly.LANES[arch], 2), np.uint32)
        edges = rng.random(words.shape) < 0.4
        words[edges] = rng.choice(EDGES, int(edges.sum()))
        out.append(words.view(np.uint64).reshape(-1))
    return out[0], out[1], out[2]


def same(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Equal bits, or NaN for NaN in a 32-bit half (payloads are not compared)."""
    halves = got.view(np.float32), want.view(np.float32)
    both_nan = np.isnan(halves[0]) & np.isnan(halves[1])
    return (got.view(np.uint32) == want.view(np.uint32)) | both_nan


@pytest.mark.parametrize(("arch", "text", "golden"), CASES)
def test_instruction_equals_numpy(arch: str, text: str, golden: Golden) -> None:
    code = assembly.build(arch, text.replace("{m}", "null" if assembly.is_new(arch) else "vcc"))
    inputs = make_inputs(arch, seed=len(text))
    got = assembly.run(code, *inputs)
    with np.errstate(all="ignore"):
        want = golden(*inputs)
    halves = got.view(np.uint16).reshape(-1, 4)[:, 0], want.view(np.uint16).reshape(-1, 4)[:, 0]
    if ("f16 v8" in text and "pk" not in text) or "cvt_f16" in text:
        nans = np.isnan(halves[0].view(np.float16)) & np.isnan(halves[1].view(np.float16))
        assert ((halves[0] == halves[1]) | nans).all()
        return
    if "f64" in text:
        nans = np.isnan(got.view(np.float64)) & np.isnan(want.view(np.float64))
        assert ((got == want) | nans).all()
        return
    bad = ~same(got, want)
    if "cvt_pk_bf16" in text:
        bad &= ~np.isnan(got.view(ml_dtypes.bfloat16)).reshape(-1, 2).any(1)
    if "pk_mul_f16" in text:
        bad &= ~(np.isnan(got.view(np.float16)) & np.isnan(want.view(np.float16))).reshape(-1, 2).any(1)
    assert not bad.any(), (np.flatnonzero(bad)[:4], got.view(np.uint32)[bad][:4], want.view(np.uint32)[bad][:4])


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize(("mode", "result"), [(0xF0, 0x00000002), (0xC0, 0)])
def test_denormals_follow_mode(arch: str, mode: int, result: int) -> None:
    text = f"s_setreg_imm32_b32 hwreg(1, 0, 8), {mode:#x}\nv_add_f32 v8, v2, v4"
    ones = np.ones(assembly.LANES[arch], np.uint64)
    assert (assembly.run(assembly.build(arch, text), ones, ones, ones) == result).all()


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize(("mode", "result"), [(0xF0, 0x3F800000), (0xF1, 0x3F800001), (0xF3, 0x3F800000)])
def test_rounding_follows_mode(arch: str, mode: int, result: int) -> None:
    text = f"s_setreg_imm32_b32 hwreg(1, 0, 8), {mode:#x}\nv_add_f32 v8, v2, v4"
    one, tiny = (np.full(assembly.LANES[arch], x, np.uint64) for x in (0x3F800000, 0x30000000))
    assert (assembly.run(assembly.build(arch, text), one, tiny, one) == result).all()


@pytest.mark.parametrize("arch", ALL)
def test_division_is_correctly_rounded(arch: str) -> None:
    vcc, s = ("vcc_lo", "vcc_lo") if assembly.is_new(arch) else ("vcc", "vcc")
    text = f"""v_div_scale_f32 v10, {s}, v4, v4, v2
v_rcp_f32 v11, v10
v_div_scale_f32 v12, {vcc}, v2, v4, v2
v_fma_f32 v13, -v10, v11, 1.0
v_fmac_f32 v11, v13, v11
v_mul_f32 v14, v12, v11
v_fma_f32 v13, -v10, v14, v12
v_fmac_f32 v14, v13, v11
v_fma_f32 v12, -v10, v14, v12
v_div_fmas_f32 v12, v12, v11, v14
v_div_fixup_f32 v8, v12, v4, v2"""
    a, b, c = make_inputs(arch, seed=5)
    got = assembly.run(assembly.build(arch, text), a, b, c).view(np.float32)[::2]
    with np.errstate(all="ignore"):
        want = f32(a) / f32(b)
    normal = (np.abs(want) >= np.finfo(np.float32).tiny) | (want == 0) | np.isnan(want)
    equal = (got == want) | (np.isnan(got) & np.isnan(want))
    assert equal[normal].all()
