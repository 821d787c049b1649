"""Counters and the time model: what a launch is known to do is what is counted."""

from __future__ import annotations

import numpy as np
import pytest

import assembly
import gfxemu
import kernels
import llvm
from gfxemu.model import estimate_time
from test_kernels import ARCHES, launch, run_matmul


@pytest.mark.parametrize("arch", ARCHES)
def test_a_copy_moves_its_bytes_once_and_is_bound_by_memory(arch: str) -> None:
    count, memory = 64 * 1024, gfxemu.Memory()
    places = memory.allocate(np.zeros(count, np.float32)), memory.allocate(np.zeros(count, np.float32))
    counts = launch(kernels.build("copy_wide", arch), (count // 1024, 1), memory, *places)
    assert (counts.global_read_bytes, counts.global_written_bytes) == (4 * count, 4 * count)
    assert counts.hbm_written_lines == 4 * count // 128
    assert counts.workgroups == count // 1024
    estimate = estimate_time(counts, arch)
    assert estimate.seconds == max(estimate.limits.values())
    assert estimate.limits["memory"] > estimate.limits["matrix"] == 0


@pytest.mark.parametrize("arch", ARCHES)
def test_a_matmul_counts_its_multiplications(arch: str) -> None:
    _, _, counts = run_matmul(arch)
    padded = 2 * 64 * 64 * 96  # ragged sizes fill their tiles of 32
    assert counts.matrix_flops >= padded
    assert counts.matrix_flops % padded == 0
    assert counts.barriers > 0
    assert estimate_time(counts, arch).limits["matrix"] > 0


@pytest.mark.parametrize(("stride", "conflicts"), [(4, 0), (128, 62)])
def test_bank_conflicts_are_counted(stride: int, conflicts: int) -> None:
    body = f"v_mul_u32_u24 v10, {stride}, v0\nv_mov_b32 v8, 1\nds_write_b32 v10, v8\ns_waitcnt lgkmcnt(0)"
    code = assembly.build("gfx942", body, lds=64 * 128)
    ones = np.ones(64, np.uint64)
    memory = gfxemu.Memory()
    places = [memory.allocate(ones) for _ in range(4)]
    counts = gfxemu.launch(
        code.kernels["k"], grid=(1, 1, 1), block=(64, 1, 1), kernarg=llvm.pack_args(*places), memory=memory
    )
    assert counts.lds_conflict_cycles == conflicts
