"""Names of GPU targets: archs, generic ones, families with an x → the archs that each stands for.

Archs are those of LLVM, https://llvm.org/docs/AMDGPUUsage.html#processors. A name that stands for nothing known is not
understood, and what bears it stays.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from rockiln.archs import LLVM_TARGETS
from rockiln.fatbin.entry_ids import GENERICS

KNOWN_ARCHS = (
    LLVM_TARGETS | frozenset().union(*GENERICS.values()) | {"gfx1170", "gfx1171", "gfx1172", "gfx1250", "gfx1251"}
)

_TOKEN = re.compile(
    r"(?<![0-9A-Za-z])(?P<arch>gfx[0-9]{1,2}(?:-[0-9])?-generic|gfx[0-9]{1,2}[0-9a-f]{2})"
    r"(?P<features>(?:[-:](?:xnack|sramecc)[+-])*)(?![0-9A-Za-z])"
)
_FAMILY = re.compile(r"gfx[0-9]{1,2}[0-9a-fx]{2}")


def find_targets(name: str) -> frozenset[str]:
    """Every target that a file's or folder's name tells, features left out: Kernels.so-000-gfx90a-xnack+ → gfx90a."""
    return frozenset(token["arch"] for token in _TOKEN.finditer(name))


def expand(target: str) -> frozenset[str]:
    """The archs that run code for `target` ("gfx942", "gfx9-4-generic", "gfx11xx"); none for a name not known."""
    if target in GENERICS:
        return GENERICS[target]
    if target in KNOWN_ARCHS:
        return frozenset({target})
    if "x" in target.removeprefix("gfx") and _FAMILY.fullmatch(target):
        pattern = re.compile("gfx" + target.removeprefix("gfx").replace("x", "[0-9a-f]"))
        return frozenset(arch for arch in KNOWN_ARCHS if pattern.fullmatch(arch))
    return frozenset()


def kept_of(target: str, archs: AbstractSet[str]) -> frozenset[str]:
    """Those of `archs` that `target` serves."""
    return frozenset(expand(target) & archs)
