"""An arch's name → its warp size and fp8 flavour. Facts about hardware: nothing is asked of this machine.

Source: LLVM's AMDGPUUsage (wavefront size, per processor) and https://rocm.docs.amd.com/en/latest/reference/precision-support.html
"""

from __future__ import annotations

import re
from typing import Literal

from hipcompat.archs import require_arch
from hipcompat.errors import UsageError

Fp8 = Literal["e4m3", "e5m2"]
_MAJOR = re.compile(r"gfx(\d{1,2})(?:[0-9a-f]{2}|(?:-\d)?-generic)$")
_FNUZ = {"e4m3": "float8_e4m3fnuz", "e5m2": "float8_e5m2fnuz"}
_OCP = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
_LARGEST = {"float8_e4m3fnuz": 240.0, "float8_e5m2fnuz": 57344.0, "float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}
_FNUZ_ARCHS = frozenset({"gfx940", "gfx941", "gfx942", "gfx9-4-generic"})
_OCP_ARCHS = frozenset({"gfx950", "gfx1200", "gfx1201", "gfx1250", "gfx1251", "gfx12-generic"})


def warp_size(arch: str) -> int:
    """Lanes of a wave as HIP compiles for it: 64 up to gfx9, 32 from gfx10 on. UsageError for what LLVM lacks."""
    match = _MAJOR.match(require_arch(arch))
    return 64 if match and int(match[1]) < 10 else 32


def fp8_dtype(arch: str, kind: Fp8 = "e4m3") -> str:
    """The name of torch's, JAX's and ml_dtypes' type that the arch computes with.

    gfx942 has the fnuz flavours (largest e4m3: 240), gfx950 and gfx12 those of OCP (448): bytes of one, read as the
    other, are wrong by a factor of two, without a word. UsageError for an arch without fp8 instructions.
    """
    plain = require_arch(arch)
    for archs, names in ((_FNUZ_ARCHS, _FNUZ), (_OCP_ARCHS, _OCP)):
        if plain in archs:
            return names[kind]
    raise UsageError(
        f"{arch} has no fp8 instructions", hint="use bfloat16 there; fp8 as storage is for the program to convert"
    )


def fp8_largest(arch: str, kind: Fp8 = "e4m3") -> float:
    """The largest finite value of fp8_dtype(arch, kind): what scales are computed with."""
    return _LARGEST[fp8_dtype(arch, kind)]
