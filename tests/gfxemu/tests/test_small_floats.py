"""Conversions to and from small floats against ml_dtypes: every code, and many values with ties."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import assembly

FNUZ = {"fp8": ml_dtypes.float8_e4m3fnuz, "bf8": ml_dtypes.float8_e5m2fnuz}
OCP = {"fp8": ml_dtypes.float8_e4m3fn, "bf8": ml_dtypes.float8_e5m2}
FORMATS = {"gfx942": FNUZ, "gfx950": OCP, "gfx1201": OCP}


def as_words(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32).view(np.uint32).astype(np.uint64)


def make_values(kind: type, count: int) -> np.ndarray:
    """Random values in range, all exact ones, and points half way between neighbours."""
    codes = np.arange(256, dtype=np.uint8).view(kind).astype(np.float32)
    exact = np.sort(codes[np.isfinite(codes)])
    ties = (exact[1:] + exact[:-1]) / 2
    noise = np.random.default_rng(9).standard_normal(count).astype(np.float32) * 4
    return np.concatenate([exact, ties, noise])[:count]


@pytest.mark.parametrize("name", ["fp8", "bf8"])
@pytest.mark.parametrize("arch", FORMATS)
def test_packing_equals_ml_dtypes(arch: str, name: str) -> None:
    kind = FORMATS[arch][name]
    values = make_values(kind, 768)
    code = assembly.build(arch, f"v_cvt_pk_{name}_f32 v8, v2, v4")
    got = assembly.run(code, as_words(values), as_words(values[::-1]), as_words(values))
    want = values.astype(kind).view(np.uint8)
    assert np.array_equal(got & 255, want)
    assert np.array_equal(got >> np.uint64(8), want[::-1])


@pytest.mark.parametrize("name", ["fp8", "bf8"])
@pytest.mark.parametrize("arch", FORMATS)
def test_unpacking_equals_ml_dtypes_for_every_code(arch: str, name: str) -> None:
    codes = np.arange(256, dtype=np.uint64)
    got = assembly.run(assembly.build(arch, f"v_cvt_f32_{name} v8, v2"), codes, codes, codes).view(np.float32)[::2]
    assert np.array_equal(got, codes.astype(np.uint8).view(FORMATS[arch][name]).astype(np.float32), equal_nan=True)


def test_packing_fp4_by_a_scale_equals_ml_dtypes() -> None:
    values = make_values(ml_dtypes.float4_e2m1fn, 512)
    scales = np.exp2(np.random.default_rng(10).integers(-3, 4, 512)).astype(np.float32)
    code = assembly.build("gfx950", "v_cvt_scalef32_pk_fp4_f32 v8, v2, v4, v6")
    got = assembly.run(code, as_words(values), as_words(-values), as_words(scales))
    low, high = ((x / scales).astype(ml_dtypes.float4_e2m1fn).view(np.uint8) for x in (values, -values))
    assert np.array_equal(got, (low | high << 4).astype(np.uint64))
