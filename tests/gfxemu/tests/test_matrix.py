"""Matrix instructions of every format that Triton picks for tl.dot, with 16- and 32-wide tiles, against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import gfxemu
import kernels
from test_kernels import launch, read

CDNA = ("gfx90a", "gfx942", "gfx950")
FP8 = {
    "gfx942": ("fp8e4b8", ml_dtypes.float8_e4m3fnuz),
    "gfx950": ("fp8e4nv", ml_dtypes.float8_e4m3fn),
    "gfx1201": ("fp8e4nv", ml_dtypes.float8_e4m3fn),
}
BF8 = {
    "gfx942": ("fp8e5b16", ml_dtypes.float8_e5m2fnuz),
    "gfx950": ("fp8e5", ml_dtypes.float8_e5m2),
    "gfx1201": ("fp8e5", ml_dtypes.float8_e5m2),
}
TYPES = {
    "i8": ("i8", np.int8),
    "fp16": ("fp16", np.float16),
    "bf16": ("bf16", ml_dtypes.bfloat16),
    "fp32": ("fp32", np.float32),
}


def cases() -> list[tuple[str, str, int]]:
    """Arch, dtype, tile. RDNA has 16-wide instructions only, and none for f32; gfx950 wants K = 128 for fp8 in 16."""
    out = []
    for arch in kernels.WARP:
        for dtype in (*TYPES, *(("fp8", "bf8") if arch in FP8 else ())):
            if dtype != "fp32" or arch in CDNA:
                out += [(arch, dtype, tile) for tile in ((16, 32) if arch in CDNA else (16,))]
    return [case for case in out if case not in (("gfx950", "fp8", 16), ("gfx950", "bf8", 16))]


@pytest.mark.parametrize(("arch", "dtype", "tile"), cases())
def test_dot_is_right(arch: str, dtype: str, tile: int) -> None:
    triton_type, numpy_type = {"fp8": FP8, "bf8": BF8}[dtype][arch] if dtype in ("fp8", "bf8") else TYPES[dtype]
    built = kernels.build_dot(arch, triton_type, tile)
    code = gfxemu.load(built.hsaco)
    assert any("mfma" in item.mnemonic or "wmma" in item.mnemonic for item in code.instructions)
    rng = np.random.default_rng(6)
    integers = dtype == "i8"
    a, b = (rng.integers(-128, 128, (64, 64)) if integers else rng.standard_normal((64, 64)) for _ in range(2))
    a, b = a.astype(numpy_type), b.astype(numpy_type)
    out, memory = np.zeros((64, 64), np.int32 if integers else np.float32), gfxemu.Memory()
    places = [memory.allocate(item) for item in (a, b, out)]
    launch(built, (1, 1), memory, *places, code=code)
    exact = not any("xf32" in item.mnemonic for item in code.instructions)  # gfx942: 10 mantissa bits of each operand
    limits = (1e-5, 1e-4) if exact else (2e-2, 2e-2)
    wide = np.int32 if integers else np.float64
    want, got = a.astype(wide) @ b.astype(wide), read(memory, places[2], out)
    assert np.array_equal(got, want) if integers else np.allclose(got, want, rtol=limits[0], atol=limits[1])


SCALED = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e2m1": None}
FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def make_operand(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """64 rows of 256 small floats: the bytes, and their values."""
    if kind == "e2m1":
        raw = rng.integers(0, 256, (64, 128), np.uint8)
        return raw, np.stack([FP4[raw & 15], FP4[raw >> 4]], -1).reshape(64, 256)
    values = rng.standard_normal((64, 256)).astype(SCALED[kind])
    return values.view(np.uint8), values.astype(np.float64)


@pytest.mark.parametrize("tile", [16, 32])
@pytest.mark.parametrize("left", SCALED)
@pytest.mark.parametrize("right", SCALED)
def test_scaled_dot_of_mixed_formats_is_right_on_gfx950(left: str, right: str, tile: int) -> None:
    built = kernels.build_scaled(left, right, tile)
    code = gfxemu.load(built.hsaco)
    assert any("mfma_scale" in item.mnemonic for item in code.instructions)
    rng = np.random.default_rng(8)
    (a, a_values), (b, b_values) = make_operand(left, rng), make_operand(right, rng)
    a_scale, b_scale = (rng.integers(120, 134, (64, 8), np.uint8) for _ in range(2))
    out, memory = np.zeros((64, 64), np.float32), gfxemu.Memory()
    places = [memory.allocate(item) for item in (a, a_scale, b, b_scale, out)]
    launch(built, (1, 1), memory, *places, code=code)
    scaled = [
        v * np.repeat(np.exp2(s.astype(np.float64) - 127), 32, 1) for v, s in ((a_values, a_scale), (b_values, b_scale))
    ]
    want = scaled[0] @ scaled[1].T
    assert np.allclose(read(memory, places[4], out), want, rtol=1e-5, atol=1e-4 * np.abs(want).max())
