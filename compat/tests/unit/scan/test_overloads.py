"""Calls that HIP refuses though it has the name: clang 22 with ROCm 7.2.4's headers says the same of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipcompat.scan import Target, scan

CG = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
CUB = "#include <cub/cub.cuh>\n"
OWN_ADD = "__device__ float2 atomicAdd(float2 *p, float2 v) { return v; }\n"
REFUSED = {
    "__global__ void k(half2 *x) { x[0] = __hmax2(x[1], x[2]); }": "__hmax2 of half2",
    "__global__ void k(half2 *x, float a) { x[0] = __hmin2(__float2half2_rn(a), x[2]); }": "__hmin2 of half2",
    "__global__ void k(const __nv_bfloat16 *p, float *q) { q[0] = __ldg(p + 1); }": "__ldg of __nv_bfloat16",
    "__global__ void k(int *y, unsigned long long v) { y[0] = __ffs(v); }": "__ffs of unsigned long long",
    "__global__ void k(int *y) { size_t s = 3; y[1] = __ffsll(s); }": "__ffsll of size_t",
    "__global__ void k(float2 *x, float2 v) { atomicAdd(x, v); }": "atomicAdd of float2",
    "__global__ void k(float *x, float4 v) { atomicAdd(reinterpret_cast<float4 *>(x), v); }": "atomicAdd of float4",
    "__global__ void k(int *x) { __assume(x != nullptr); }": "__assume",
    "__global__ void __cluster_dims__(2, 1, 1) k(int *x) {}": "__cluster_dims__",
    "__global__ void __maxnreg__(64) k(int *x) {}": "__maxnreg__",
    "__global__ void __launch_bounds__(128, 1, 1) k(int *x) {}": "__launch_bounds__",
    "#include <cuda.h>\nvoid f(CUfunction k, CUfunction_attribute a) { cuFuncSetAttribute(k, a, 4); }":
        "cuFuncSetAttribute",
    "#include <cuda.h>\nvoid f() { cuLinkCreate(0, nullptr, nullptr, s); }": "cuLinkCreate without nvrtc.h",
    "surface<void, 2> target;": "surface",
    "extern surface < void, 1 + 1 > target;\nvoid f() { g(&target); }": "surface",
    "size_t f() { return cublasLtGetVersion(); }": "cublasLtGetVersion",
    "using namespace cooperative_groups;\n__global__ void k() { auto g = labeled_partition(t, 1); }":
        "labeled_partition",
    CG + "__global__ void k(int *x) { auto b = cg::this_thread_block(); x[0] = b.dim_threads().x; }": "dim_threads",
    CG + "__global__ void k(int *x) { x[0] = cg::this_grid().num_blocks(); }": "num_blocks",
    CG + "__device__ int f(const cg::grid_group &g) { return g.block_rank(); }": "block_rank",
    CUB + "__global__ void k(int *x) { x[0] = CUB_PTX_WARP_THREADS; }": "CUB_PTX_WARP_THREADS",
    CUB + "__global__ void k(int *x) { x[0] = CUB_QUOTIENT_CEILING(x[0], 8); }": "CUB_QUOTIENT_CEILING",
}  # fmt: skip
TAKEN = (
    "texture<float, 2> source;",
    "template <class T> struct surface {};\nsurface<int> own;\nmesh::surface<void, 2> *theirs;",
    "__global__ void k(__nv_bfloat16 *x, half2 *y) { *x = __hmin_nan(x[1], x[2]); *y = __hmax2_nan(y[1], y[2]); }",
    "__global__ void k(__nv_bfloat162 *x) { x[0] = __hmax2(x[1], x[2]); }",
    "__global__ void k(const half *p, half *q) { q[0] = __ldg(p + 1); }",
    "__global__ void k(int *y, unsigned long long v, unsigned u) { y[0] = __ffsll(v) + __ffs(u); }",
    "__global__ void k(int *y, unsigned v) { y[0] = __ffs(v); }\n__global__ void l(size_t v) { g(v); }",
    "__global__ void k(float *x, float v, float2 w) { atomicAdd(x, w.x); }",
    OWN_ADD + "__global__ void k(float2 *x, float2 v) { atomicAdd(x, v); }",
    "__global__ void __launch_bounds__(128, 2) k(int *x) {}",
    "template <int A, int B> __global__ void __launch_bounds__(Sum<A, B>::value, 1) k(int *x) {}",
    "#include <cuda.h>\n#include <nvrtc.h>\nvoid f() { cuLinkCreate(0, nullptr, nullptr, s); }",
    CG + "__global__ void k(int *x) { auto b = cg::this_thread_block(); x[0] = b.group_dim().x + b.num_threads(); }",
    CG + "__global__ void k(Grid g) { g.num_blocks(); }",
    CUB + "#define CUB_MIN(a, b) ((a) < (b) ? (a) : (b))\n__global__ void k(int *x) { x[0] = 1; }",
)


def _find(text: str, folder: Path) -> list[tuple[str, str]]:
    (folder / "k.cu").write_text(text)
    return [(finding.severity, finding.detail) for finding in scan([folder], Target()).findings]


@pytest.mark.parametrize("text", REFUSED)
def test_what_the_compiler_refuses_is_an_error(text: str, tmp_path: Path) -> None:
    assert _find(text, tmp_path) == [("error", REFUSED[text])]


@pytest.mark.parametrize("text", TAKEN)
def test_what_the_compiler_takes_is_none(text: str, tmp_path: Path) -> None:
    assert _find(text, tmp_path) == []
