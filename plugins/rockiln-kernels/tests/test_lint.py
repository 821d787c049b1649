"""The lint: what makes a compiled kernel unfit for a pack, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rockiln_kernels.archs import ARCHS
from rockiln_kernels.pack.code_object import CodeFacts
from rockiln_kernels.pack.lint import lint_kernel
from rockiln_kernels.variant import Kernel

ARCH = ARCHS["gfx942"]
KERNEL = Kernel(source="op", function="op", args=(), constants=(), warps=4)
FACTS = CodeFacts(
    symbol="op",
    kernarg_bytes=8,
    slots=(),
    vgprs=32,
    agprs=0,
    sgprs=16,
    vgpr_spills=0,
    sgpr_spills=0,
    scratch_bytes=0,
    occupancy=8,
    matrix_instructions={},
)
MFMA = {"v_mfma_f32_32x32x8_bf16": 4}


def test_a_lean_pointwise_kernel_passes() -> None:
    assert lint_kernel(KERNEL, FACTS, ARCH, 0) == ()


@pytest.mark.parametrize(
    ("kernel", "facts", "shared_bytes", "reason"),
    [
        (KERNEL, replace(FACTS, vgpr_spills=3, scratch_bytes=12), 0, "spills 3 vector registers, 12 bytes"),
        (KERNEL, replace(FACTS, sgpr_spills=8), 0, "spills 8 scalar registers"),
        (replace(KERNEL, matrix="matrix"), FACTS, 0, "has no matrix matrix instruction, only none at all"),
        (replace(KERNEL, matrix="fp8"), replace(FACTS, matrix_instructions=MFMA), 0, "only v_mfma_f32_32x32x8_bf16"),
        (replace(KERNEL, matrix="scaled"), replace(FACTS, matrix_instructions=MFMA), 0, "has no scaled matrix"),
        (KERNEL, replace(FACTS, occupancy=3), 0, "3 waves a SIMD at 32 registers and 0 bytes of LDS"),
        (KERNEL, FACTS, 65536, "1 waves a SIMD at 32 registers and 65536 bytes"),
        (KERNEL, FACTS, 65537, "needs 65537 bytes of LDS, gfx942 has 65536"),
    ],
)
def test_an_unfit_kernel_is_told_why(kernel: Kernel, facts: CodeFacts, shared_bytes: int, reason: str) -> None:
    reasons = lint_kernel(kernel, facts, ARCH, shared_bytes)
    assert len(reasons) == 1
    assert reason in reasons[0]


def test_a_matrix_kernel_may_fill_the_registers() -> None:
    facts = replace(FACTS, occupancy=1, matrix_instructions=MFMA)
    assert lint_kernel(replace(KERNEL, kernel_class="matrix", matrix="matrix"), facts, ARCH, 65536) == ()
