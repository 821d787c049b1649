"""PyTorch's C++ names and headers that exist twice → the names that its ROCm builds export.

From the public headers of PyTorch 2.8 (c10/hip, ATen/hip): those builds keep CUDA's device type, and the classes named
...MasqueradingAsCUDA speak it.
"""

from __future__ import annotations

from collections.abc import Mapping

TORCH_HEADERS: Mapping[str, str] = {
    "ATen/cuda/CUDAContext.h": "ATen/hip/HIPContext.h",
    "ATen/cuda/Exceptions.h": "ATen/hip/Exceptions.h",
    "ATen/cuda/CUDABlas.h": "ATen/hip/HIPBlas.h",
    "ATen/cuda/CUDAGeneratorImpl.h": "ATen/hip/HIPGeneratorImpl.h",
    "ATen/cuda/CUDAEvent.h": "ATen/hip/HIPEvent.h",
    "c10/cuda/CUDAException.h": "c10/hip/HIPException.h",
    "c10/cuda/CUDAFunctions.h": "c10/hip/HIPFunctions.h",
    "c10/cuda/CUDAGuard.h": "ATen/hip/impl/HIPGuardImplMasqueradingAsCUDA.h",
    "c10/cuda/CUDAMathCompat.h": "c10/hip/HIPMathCompat.h",
    "c10/cuda/CUDAStream.h": "ATen/hip/impl/HIPStreamMasqueradingAsCUDA.h",
}

TORCH_NAMES: Mapping[str, str] = {
    "C10_CUDA_CHECK": "C10_HIP_CHECK",
    "C10_CUDA_KERNEL_LAUNCH_CHECK": "C10_HIP_KERNEL_LAUNCH_CHECK",
    "AT_CUDA_CHECK": "C10_HIP_CHECK",
}
