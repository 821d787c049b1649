"""A compiled kernel's facts + what its class wants → the reasons why it may not ship."""

from __future__ import annotations

from rockiln_kernels.archs import Arch
from rockiln_kernels.pack.code_object import CodeFacts
from rockiln_kernels.variant import Kernel, KernelClass

LEAST_OCCUPANCY: dict[KernelClass, int] = {"pointwise": 4, "reduction": 2, "matrix": 1, "attention": 1}
"""Waves per SIMD. A pointwise kernel hides memory latency with waves; a matrix kernel keeps its tile in registers."""


def lint_kernel(kernel: Kernel, facts: CodeFacts, arch: Arch, shared_bytes: int) -> tuple[str, ...]:
    """Every reason against `kernel`; empty when it may ship."""
    reasons = [
        *_lint_spills(facts),
        *_lint_matrix(kernel, facts),
        *_lint_occupancy(kernel, facts, shared_bytes, arch),
    ]
    return tuple(f"{kernel.function}: {reason}" for reason in reasons)


def _lint_spills(facts: CodeFacts) -> list[str]:
    reasons = []
    if facts.vgpr_spills or facts.scratch_bytes:
        reasons.append(f"spills {facts.vgpr_spills} vector registers, {facts.scratch_bytes} bytes of scratch a lane")
    if facts.sgpr_spills:
        reasons.append(f"spills {facts.sgpr_spills} scalar registers")
    return reasons


def _lint_matrix(kernel: Kernel, facts: CodeFacts) -> list[str]:
    names = facts.matrix_instructions
    found = {
        "": True,
        "matrix": bool(names),
        "scaled": any("scale" in name for name in names),
        "fp8": any("fp8" in name or "bf8" in name or "f8f6f4" in name for name in names),
    }
    if found[kernel.matrix]:
        return []
    return [f"has no {kernel.matrix} matrix instruction, only {', '.join(names) or 'none at all'}"]


def _lint_occupancy(kernel: Kernel, facts: CodeFacts, shared_bytes: int, arch: Arch) -> list[str]:
    if shared_bytes > arch.lds_bytes:
        return [f"needs {shared_bytes} bytes of LDS, {arch.name} has {arch.lds_bytes}"]
    least, waves = LEAST_OCCUPANCY[kernel.kernel_class], count_waves(kernel, facts, arch, shared_bytes)
    if waves >= least:
        return []
    where = f"{facts.vgprs} registers and {shared_bytes} bytes of LDS"
    return [f"{waves} waves a SIMD at {where}; a {kernel.kernel_class} kernel needs {least}"]


def count_waves(kernel: Kernel, facts: CodeFacts, arch: Arch, shared_bytes: int) -> int:
    """Waves a SIMD: LLVM's count from the registers, bounded by LDS, which LLVM cannot know (it is dynamic)."""
    if not shared_bytes or arch.backend == "cuda":
        return facts.occupancy
    simds = 4 if arch.wave_lanes == 64 else 2  # of one CU; RDNA's LDS is counted for a CU, half a work-group processor
    by_lds = arch.lds_bytes // shared_bytes * kernel.warps // simds
    return min(facts.occupancy, max(by_lds, 1 if shared_bytes <= arch.lds_bytes else 0))
