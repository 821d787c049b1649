"""Rules about the interfaces of CUDA in C and C++ → what HIP lacks, and what it does differently."""

from __future__ import annotations

from hipcompat.scan.rule import Rule

CUDA_RULES = (
    Rule(
        id="api-missing", severity="error",
        title="a name of CUDA that HIP does not have",
        advice="do without it under a guard for HIP; hipcompat facts NAME says which source was asked",
        evidence="https://rocm.docs.amd.com/projects/HIPIFY/en/latest/reference/supported_apis.html",
        example="void f() { cudaGraphConditionalHandleCreate(&h, g, 0, 0); }",
    ),
    Rule(
        id="api-too-new", severity="error", fixed_in=(7, 1),
        title="HIP has it, but not in 7.0",
        advice="guard it by HIP_VERSION, or use ROCm 7.1 or later",
        evidence="https://github.com/ROCm/hip/blob/develop/CHANGELOG.md",
        example="void f() { cudaStreamGetId(stream, &id); }",
    ),
    Rule(
        id="library-missing", severity="error",
        title="a library or header of NVIDIA without a counterpart in ROCm",
        advice="leave the part out under a guard for HIP, or replace the library",
        evidence="https://rocm.docs.amd.com/en/latest/reference/api-libraries.html",
        example="#include <npp.h>",
    ),
    Rule(
        id="libcu++", severity="error",
        title="libcu++ (cuda::std, cuda::barrier, cuda::pipeline), which ROCm 7 does not ship",
        advice="use the host's <atomic> types and HIP's own atomics; libhipcxx is a separate project",
        evidence="https://github.com/ROCm/libhipcxx",
        example="#include <cuda/barrier>",
    ),
    Rule(
        id="cudnn", severity="error",
        title="cuDNN; MIOpen has other calls and other semantics",
        advice="write for MIOpen under a guard for HIP, or go through the framework",
        evidence="https://rocm.docs.amd.com/projects/MIOpen/en/latest/",
        example="#include <cudnn.h>",
    ),
    Rule(
        id="nvml", severity="error",
        title="NVML; ROCm's amdsmi has other calls",
        advice="ask the runtime (hipDeviceProp_t, hipMemGetInfo), or amdsmi",
        evidence="https://rocm.docs.amd.com/projects/amdsmi/en/latest/",
        example="void f() { nvmlInit(); }",
    ),
    Rule(
        id="nvtx", severity="warning",
        title="NVTX; roctx has push, pop, mark and ranges under other names, and a library to link",
        advice="map the four calls to roctx, or leave the marks out",
        evidence="https://rocm.docs.amd.com/projects/rocprofiler-sdk/en/latest/how-to/using-rocprofiler-sdk-roctx.html",
        example='void f() { nvtxRangePushA("step"); }',
    ),
    Rule(
        id="cub-missing", severity="error",
        title="a part of CUB that hipCUB does not have",
        advice="use rocPRIM, or a plainer primitive of hipCUB",
        evidence="https://github.com/ROCm/HIPIFY/issues/1568",
        example="using Scan = cub::TripleChevronFactory;",
    ),
    Rule(
        id="cuda-arch-guard", severity="warning",
        title="__CUDA_ARCH__ is not defined here: device code takes the branch for the host",
        advice="ask __HIP_DEVICE_COMPILE__ for the device pass, and features one by one",
        evidence="https://github.com/Libraries-Openly-Fused/FusedKernelLibrary/pull/363",
        example="#if __CUDA_ARCH__ >= 800\n#endif",
    ),
    Rule(
        id="cudacc-guard", severity="warning",
        title="__CUDACC__ or __NVCC__ is not defined here: code meant for the CUDA compiler is left out",
        advice="ask for __HIPCC__ as well",
        evidence="https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html",
        example="#ifdef __CUDACC__\n#endif",
    ),
    Rule(
        id="capability-check", severity="warning",
        title="a decision by compute capability; AMD's numbers (9.4, 9.5, 12.0) mean something else",
        advice="ask for the feature, or for gcnArchName",
        evidence="https://github.com/pytorch/torchtitan/pull/4778",
        example="bool f(cudaDeviceProp p) { return p.major >= 9; }",
    ),
    Rule(
        id="lt-epilogue", severity="warning",
        title="an epilogue of cublasLt that hipBLASLt has for some GPUs and types only",
        advice="ask hipblasLtMatmulAlgoGetHeuristic, and keep a path without it",
        evidence="https://github.com/ROCm/hipBLASLt/pull/1787",
        example="cublasLtEpilogue_t e = CUBLASLT_EPILOGUE_GELU_AUX_BIAS;",
    ),
    Rule(
        id="capture-call", severity="warning",
        title="a call that HIP 7 refuses while a stream is captured",
        advice="move it out of the capture; callbacks through hipLaunchHostFunc work since 7.0.2",
        evidence="https://github.com/ROCm/rccl/issues/2022",
        example="void f() { cudaStreamBeginCapture(s, m); cudaEventQuery(e); }",
    ),
    Rule(
        id="sticky-error", severity="note",
        title="cudaGetLastError only to clear the error; in HIP 7 it stays until a call of the same thread succeeds",
        advice="look at what each call returns; hipExtGetLastError has the old behaviour",
        evidence="https://github.com/iree-org/iree/pull/23538",
        example="void f() { cudaGetLastError(); }",
    ),
    Rule(
        id="hip7-removed", severity="error",
        title="HIP 7 removed it or changed its parameters",
        advice="use the new name; rebuild what was built for HIP 6",
        evidence="https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html",
        example="HIP_MEMSET_NODE_PARAMS params;",
    ),
    Rule(
        id="unresolved-include", severity="note",
        title="an included file that is not below the paths that were scanned",
        advice="scan its folder too; what it holds is not in the verdict",
        evidence="https://github.com/ROCm/aiter/issues/1399",
        example='#include <cuda.h>\n#include "nowhere/missing.cuh"',
    ),
    Rule(
        id="cuda-binary", severity="error", language="binary",
        title="a compiled library that needs NVIDIA's libraries",
        advice="build it from source for ROCm, or leave it out",
        evidence="https://github.com/sgl-project/sglang/issues/4778",
        example="\x7fELF libcudart.so.12",
    ),
)  # fmt: skip
