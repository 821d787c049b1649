"""LLVM's names of AMD GPU targets: those that a matrix may hold, and of a number of the kernel the name."""

from __future__ import annotations

LLVM_TARGETS = frozenset({
    "gfx803", "gfx900", "gfx902", "gfx904", "gfx906", "gfx908", "gfx909", "gfx90a", "gfx90c", "gfx942", "gfx950",
    "gfx1010", "gfx1011", "gfx1012", "gfx1013", "gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035",
    "gfx1036", "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153",
    "gfx1200", "gfx1201",
})  # fmt: skip
"""https://llvm.org/docs/AMDGPUUsage.html#processors: gfx9 and later, and what Debian still builds for.

A feature suffix (":xnack+") is no target."""


def name_arch(gfx_target_version: int) -> str:
    """What /sys/class/kfd says of a GPU: 90402 → gfx942, 90010 → gfx90a. Minor and stepping are hexadecimal digits."""
    major, rest = divmod(gfx_target_version, 10000)
    return f"gfx{major}{rest // 100:x}{rest % 100:x}"
