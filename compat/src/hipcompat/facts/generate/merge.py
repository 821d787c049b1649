"""CUDA's names, HIP's names and the two mappings → rows of facts.tsv. HIP's headers have the last word."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from hipcompat.facts.generate.cuda_side import Names
from hipcompat.facts.generate.hip_side import HipSide
from hipcompat.facts.generate.mappings import rename_by_prefix
from hipcompat.facts.table import Fact

_IN_7_0_LISTS = frozenset(("runtime", "driver", "nvrtc", "blas", "sparse", "solver", "fft", "nccl"))
"""Interfaces whose HIP 7.0 functions hip-python 7.0.2 lists one by one."""
_SAME_NAME = frozenset(("device", "nccl", "include", "thrust"))
"""Interfaces where HIP keeps CUDA's names."""
_OWN_INCLUDES = {
    "cuda_bf16.h": "hip/hip_bf16.h", "cuda_fp8.h": "hip/hip_fp8.h", "cuda_fp6.h": "hip/hip_fp6.h",
    "cuda_fp4.h": "hip/hip_fp4.h", "cuda_runtime.h": "hip/hip_runtime.h", "cuda.h": "hip/hip_runtime.h",
    "cuda_runtime_api.h": "hip/hip_runtime_api.h", "cublasLt.h": "hipblaslt/hipblaslt.h",
    "cublas_v2.h": "hipblas/hipblas.h", "nvrtc.h": "hip/hiprtc.h", "math_constants.h": "hip/hip_math_constants.h",
    "cooperative_groups.h": "hip/hip_cooperative_groups.h", "curand.h": "hiprand/hiprand.h",
    "curand_kernel.h": "hiprand/hiprand_kernel.h", "cusparse.h": "hipsparse/hipsparse.h",
    "cusolverDn.h": "hipsolver/hipsolver.h", "cufft.h": "hipfft/hipfft.h", "cufftXt.h": "hipfft/hipfftXt.h",
    "nccl.h": "rccl/rccl.h", "cub/cub.cuh": "hipcub/hipcub.hpp", "library_types.h": "hip/library_types.h",
    "cuda_fp16.h": "hip/hip_fp16.h", "cuComplex.h": "hip/hip_complex.h", "driver_types.h": "hip/driver_types.h",
    "channel_descriptor.h": "hip/channel_descriptor.h", "vector_types.h": "hip/hip_vector_types.h",
    "cuda_gl_interop.h": "hip/hip_gl_interop.h", "texture_types.h": "hip/texture_types.h",
    "surface_types.h": "hip/surface_types.h", "device_functions.h": "hip/device_functions.h",
    "math_functions.h": "hip/math_functions.h",
    "cudaGL.h": "hip/hip_gl_interop.h", "cusparse_v2.h": "hipsparse/hipsparse.h", "cufftw.h": "hipfft/hipfftw.h",
    "cusolver_common.h": "hipsolver/hipsolver.h", "cublas_api.h": "hipblas/hipblas.h",
    "cudaProfiler.h": "hip/hip_runtime_api.h",
}  # fmt: skip
"""HIP's header of the same purpose; kept only where the headers hold it."""
_IN_RUNTIME = re.compile(
    r"(?:builtin_types|common_functions|device_\w+|host_config|host_defines|driver_functions|vector_functions|sm_\w+"
    r"|(?:texture|surface)(?:_fetch|_indirect)?_functions|cuda_(?:texture|surface)_types)\.(?:h|hpp)$"
)
"""Headers whose content hip/hip_runtime.h has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """All that the packages say."""

    cuda: Names
    hip: HipSide
    interop: Mapping[str, str]
    hipify: Mapping[str, str]


def merge_facts(sides: Sides) -> tuple[Fact, ...]:
    """One fact a CUDA name, sorted by name."""
    return tuple(_make_fact(name, *sides.cuda[name], sides) for name in sorted(sides.cuda))


def _make_fact(name: str, api: str, kind: str, sides: Sides) -> Fact:
    hip, source = _choose_target(name, api, kind, sides)
    return Fact(
        name=name, hip=hip, api=api, kind=kind, source=source,
        in_7_0=_is_in_7_0(hip, api, kind, sides.hip), in_7_2=bool(hip) and source not in {"unconfirmed", "hip-python"},
    )  # fmt: skip


def _choose_target(name: str, api: str, kind: str, sides: Sides) -> tuple[str, str]:
    """HIP's name and who says so; a name that no header holds is "unconfirmed", and none at all is "absent"."""
    if kind == "include":
        return _choose_include(name, api, sides)
    if api == "cub":
        target = f"hip{name}"
        return (target, "headers") if target in sides.hip.cub else ("", "absent")
    return _find_confirmed(name, api, sides) or _find_claimed(name, sides)


def _find_confirmed(name: str, api: str, sides: Sides) -> tuple[str, str] | None:
    known = sides.hip.in_7_2
    for source, mapping in (("interop", sides.interop), ("hipify", sides.hipify)):
        if mapping.get(name) in known:
            return mapping[name], source
    if api in _SAME_NAME and name in known:
        return name, "headers"
    if renamed := rename_by_prefix(name, known):
        return renamed, "prefix"
    if name in known and not name.startswith(("cu", "CU", "nv", "NV")):
        return name, "headers"
    return None


def _find_claimed(name: str, sides: Sides) -> tuple[str, str]:
    claimed = sides.interop.get(name) or sides.hipify.get(name, "")
    if claimed.startswith("roctx") and claimed in sides.hip.in_7_0:
        return claimed, "hip-python"
    return (claimed, "unconfirmed") if claimed and claimed != name else ("", "absent")


def _choose_include(name: str, api: str, sides: Sides) -> tuple[str, str]:
    hip = sides.hip
    candidates: tuple[str, ...] = (_OWN_INCLUDES.get(name, ""), name if api == "thrust" else "")
    if api == "cub" and name.startswith("cub/"):
        candidates = (*candidates, f"hip{name}".replace(".cuh", ".hpp"))
    candidates = (*candidates, sides.hipify.get(name, ""), "hip/hip_runtime.h" if _IN_RUNTIME.match(name) else "")
    return next(((path, "headers") for path in candidates if path in hip.headers), ("", "absent"))


def _is_in_7_0(hip: str, api: str, kind: str, side: HipSide) -> bool | None:
    """None where no list of HIP 7.0 covers this kind of name."""
    if not hip:
        return False
    if hip in side.in_7_0:
        return True
    return False if api in _IN_7_0_LISTS and kind == "function" else None
