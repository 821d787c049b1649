"""Code that clang compiles from HIP runs: hidden arguments, calls, recursion, scratch, globals, LDS, atomics."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import gfxemu
import kernels
from test_decoder import compile_hip

ARCHES = tuple(kernels.WARP)


@pytest.fixture(params=ARCHES)
def code(request: pytest.FixtureRequest, tmp_path: Path) -> gfxemu.CodeObject:
    return gfxemu.load(compile_hip(request.param, tmp_path))


def floats(memory: gfxemu.Memory, address: int, count: int) -> np.ndarray:
    return np.frombuffer(memory.read(address, 4 * count), np.float32)


def test_a_global_table_and_hidden_sizes_are_read(code: gfxemu.CodeObject) -> None:
    x, memory = np.arange(1000, dtype=np.float32), gfxemu.Memory()
    px, py = memory.allocate(x, "x"), memory.allocate(np.ones(1000, np.float32), "y")
    kernarg = struct.pack("<f4xQQi", 2.0, px, py, 1000)
    gfxemu.launch(code.kernels["axpy"], grid=(4, 1, 1), block=(256, 1, 1), kernarg=kernarg, memory=memory)
    table = np.array([1.5, 2.5, 3.5, 4.5], np.float32)
    assert np.array_equal(floats(memory, py, 1000), 2 * x + 1 + table[np.arange(1000) & 3])


def test_a_reduction_in_lds_and_an_atomic_add_up(code: gfxemu.CodeObject) -> None:
    x, memory = np.arange(1024, dtype=np.int32), gfxemu.Memory()
    px, out, sizes = (memory.allocate(item) for item in (x, np.zeros(1, np.int32), np.zeros(2, np.uint32)))
    kernarg = struct.pack("<QQQ", px, out, sizes)
    gfxemu.launch(
        code.kernels["reduce"], grid=(4, 1, 1), block=(256, 1, 1), kernarg=kernarg, memory=memory, order="reverse"
    )
    assert struct.unpack("<i", memory.read(out, 4))[0] == x.sum()
    assert struct.unpack("<II", memory.read(sizes, 8)) == (1024, 256)


def test_calls_recursion_and_scratch_work(code: gfxemu.CodeObject) -> None:
    x, memory = np.arange(128, dtype=np.float32), gfxemu.Memory()
    px, py, pf = (memory.allocate(item) for item in (x, np.zeros(128, np.float32), np.zeros(128, np.int32)))
    gfxemu.launch(
        code.kernels["calls"], grid=(1, 1, 1), block=(128, 1, 1), kernarg=struct.pack("<QQQ", px, py, pf), memory=memory
    )
    i = np.arange(128)
    local = np.tile(x[:8], (128, 1))
    local[i, i & 7] += 1
    assert np.array_equal(floats(memory, py, 128), 2 * x + local[i, i * 3 & 7])
    assert np.array_equal(
        np.frombuffer(memory.read(pf, 512), np.int32), np.array([0, 1, 1, 2, 3, 5, 8, 13], np.int32)[i & 7]
    )


def test_a_short_kernarg_is_refused(code: gfxemu.CodeObject) -> None:
    with pytest.raises(gfxemu.BadLaunch, match="kernarg has 8 bytes"):
        gfxemu.launch(code.kernels["axpy"], grid=(1, 1, 1), block=(64, 1, 1), kernarg=bytes(8), memory=gfxemu.Memory())


def test_bytes_that_are_no_code_object_are_refused() -> None:
    for data in (b"", b"\x7fELF" + bytes(60), b"__CLANG_OFFLOAD_BUNDLE__" + bytes(40)):
        with pytest.raises(gfxemu.BadCodeObject):
            gfxemu.load(data)
