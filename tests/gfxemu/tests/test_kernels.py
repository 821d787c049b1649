"""Compiled Triton kernels run right on every arch, in every order of workgroups."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import gfxemu
import kernels
from gfxemu.memory import Memory

ARCHES = tuple(kernels.WARP)


def launch(
    built: kernels.Built,
    grid: tuple[int, int],
    memory: Memory,
    *args: int,
    code: gfxemu.CodeObject | None = None,
    **options: object,
) -> gfxemu.Counts:
    """Pointers are 8 bytes, ints below 2^31 four; Triton's trailing scratch pointer is zero."""
    raw = b""
    for value in args:
        raw += struct.pack("<Q", value) if value >= 1 << 32 else struct.pack("<i", value)
    loaded = code or gfxemu.load(built.hsaco)
    kernel = loaded.kernels[built.name]
    raw = raw.ljust(kernel.kernarg_size, b"\0")
    settings: dict[str, object] = {"shared_bytes": built.shared_bytes} | options
    return gfxemu.launch(kernel, grid=(*grid, 1), block=(built.threads, 1, 1), kernarg=raw, memory=memory, **settings)  # type: ignore[arg-type]


def read(memory: Memory, address: int, like: np.ndarray) -> np.ndarray:
    return np.frombuffer(memory.read(address, like.nbytes), like.dtype).reshape(like.shape)


def run_matmul(
    arch: str, code: gfxemu.CodeObject | None = None, **options: object
) -> tuple[np.ndarray, np.ndarray, gfxemu.Counts]:
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((45, 70)).astype(np.float16), rng.standard_normal((70, 37)).astype(np.float16)
    c = np.full((45, 37), np.nan, np.float32)
    memory = Memory()
    places = [memory.allocate(x, name) for x, name in ((a, "a"), (b, "b"), (c, "c"))]
    counts = launch(kernels.build("matmul", arch), (2, 2), memory, *places, 45, 37, 70, code=code, **options)
    return read(memory, places[2], c), a.astype(np.float32) @ b.astype(np.float32), counts


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("order", ["forward", "reverse", 3])
def test_matmul_is_right_in_any_order(arch: str, order: str | int) -> None:
    got, want, counts = run_matmul(arch, order=order)
    assert np.allclose(got, want, rtol=1e-5, atol=1e-4)
    assert counts.workgroups == 4
    assert counts.instructions["matrix"] > 0
    assert counts.global_written_bytes == got.nbytes


@pytest.mark.parametrize("arch", ARCHES)
def test_softmax_of_ragged_rows_is_right(arch: str) -> None:
    x = np.random.default_rng(2).standard_normal((3, 301)).astype(np.float32)
    x[1, 5] = np.inf
    memory = Memory()
    places = memory.allocate(x, "x"), memory.allocate(np.zeros_like(x), "y")
    launch(kernels.build("softmax", arch), (3, 1), memory, *places, 301)
    got = read(memory, places[1], x)
    want = np.exp(x[[0, 2]] - x[[0, 2]].max(1, keepdims=True))
    assert np.allclose(got[[0, 2]], want / want.sum(1, keepdims=True), rtol=1e-5)
    assert np.isnan(got[1, 5])


@pytest.mark.parametrize("arch", ARCHES)
def test_atomics_of_many_workgroups_add_up(arch: str) -> None:
    x = np.random.default_rng(3).integers(0, 16, 1000).astype(np.int32)
    memory = Memory()
    places = memory.allocate(x, "x"), memory.allocate(np.zeros(16, np.int32), "counts")
    counts = launch(kernels.build("histogram", arch), (4, 1), memory, *places, 1000, order=7)
    assert np.array_equal(read(memory, places[1], np.zeros(16, np.int32)), np.bincount(x, minlength=16))
    assert counts.atomics > 0


@pytest.mark.parametrize("arch", ARCHES)
def test_a_workgroup_may_spin_on_a_later_one(arch: str) -> None:
    memory = Memory()
    flags, out = memory.allocate(np.zeros(1, np.int32), "flags"), memory.allocate(np.zeros(1, np.int32), "out")
    launch(kernels.build("wait_for_flag", arch), (2, 1), memory, flags, out)
    assert read(memory, out, np.zeros(1, np.int32))[0] == 7


@pytest.mark.parametrize("arch", ARCHES)
def test_a_spin_that_nobody_ends_is_a_hang(arch: str) -> None:
    memory = Memory()
    flags, out = memory.allocate(np.zeros(1, np.int32), "flags"), memory.allocate(np.zeros(1, np.int32), "out")
    with pytest.raises(gfxemu.Hang):
        launch(kernels.build("wait_for_flag", arch), (1, 1), memory, flags, out, step_limit=20_000)
