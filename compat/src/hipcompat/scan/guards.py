"""Include guards of CUDA's headers → which header a branch waits for: CUBLAS_API_H_ is defined after cublas_v2.h."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Sequence

from hipcompat.scan.conditions import Branch

GUARDS = {
    "CUBLAS_API_H_": ("cublas_v2.h", "cublas.h", "cublas_api.h"), "CUBLAS_V2_H_": ("cublas_v2.h",),
    "_CUFFT_H_": ("cufft.h", "cufftXt.h"), "CURAND_H_": ("curand.h",), "CURAND_KERNEL_H_": ("curand_kernel.h",),
    "CUSPARSEAPI": ("cusparse.h", "cusparse_v2.h"), "CUSPARSE_H_": ("cusparse.h",),
    "CUSOLVER_COMMON_H_": ("cusolverDn.h", "cusolverSp.h", "cusolver_common.h"),
    "__cuda_cuda_h__": ("cuda.h",), "__CUDA_RUNTIME_H__": ("cuda_runtime.h",),
    "__CUDA_RUNTIME_API_H__": ("cuda_runtime_api.h", "cuda_runtime.h"),
    "__DRIVER_TYPES_H__": ("cuda_runtime.h", "cuda_runtime_api.h", "driver_types.h"),
    "CUDNN_H_": ("cudnn.h",), "NCCL_H_": ("nccl.h",), "NV_NPPIDEFS_H": ("npp.h", "nppi.h", "nppdefs.h"),
    "NVJPEGAPI": ("nvjpeg.h",), "__NVRTC_H__": ("nvrtc.h",),
}  # fmt: skip
"""Names as CUDA 12.9's headers define them."""

TOOLKIT = frozenset(header for headers in GUARDS.values() for header in headers)
_WORD = re.compile(r"[A-Za-z_]\w*")


def find_guarding_headers(branches: Iterable[Branch], offsets: Sequence[int]) -> tuple[str, ...]:
    """Headers that make a branch with one of `offsets` certain."""
    offsets = sorted(offsets)
    found: set[str] = set()
    for branch in branches:
        guards = [word for word in _WORD.findall(branch.words) if word in GUARDS]
        if guards and branch.is_unknown and _holds(branch, offsets):
            found |= {header for guard in guards for header in GUARDS[guard]}
    return tuple(sorted(found))


def _holds(branch: Branch, offsets: Sequence[int]) -> bool:
    at = bisect.bisect_left(offsets, branch.start)
    return at < len(offsets) and offsets[at] < branch.end
