"""Shared memory by its size and the GPU, and what constants come to."""

from __future__ import annotations

import pytest

from hipcompat.scan.detect.constants import Constants
from scanned import find_in


def _find(text: str, arch: str = "gfx942") -> list[tuple[str, str]]:
    return [(finding.rule, finding.detail) for finding in find_in(text, "cuda", arch)]


KERNEL = "__global__ void k() {{ {} }}"
USED = (
    "template <typename T, int N> __global__ void k(T *p) { __shared__ T s[N][N]; }\n"
    "void f() { k<float, 64><<<1, 1>>>(p); k<double, 96><<<1, 1>>>(q); }"
)
STATIC = {
    "just too large": (KERNEL.format("__shared__ float a[128][129];"), 66_048),
    "just fits": (KERNEL.format("__shared__ float a[128][128];"), 0),
    "two arrays": (KERNEL.format("__shared__ float a[10000]; if (x) { __shared__ float b[10000]; }"), 80_000),
    "one of two": (KERNEL.format("if constexpr (A) { __shared__ int a[10000]; } else { __shared__ int b[10000]; }"), 0),
    "constants": (
        "#define N 256\n" + KERNEL.format("constexpr int M = N / 2; __shared__ __align__(16) double a[M][N], b[2];"),
        262_160,
    ),
    "an enumerator": ("enum { W = 100 };\n" + KERNEL.format("__shared__ float4 a[W * W];"), 160_000),
    "a default of a template": (
        "template <int N = 256> __global__ void k(float *p) { __shared__ float s[N * N]; }", 262_144,
    ),
    "a use of a template": (
        USED, 73_728,
    ),
    "a template that is not used": ("template <int N> __global__ void k() { __shared__ float s[N * 100000]; }", 0),
    "a type that is not told": (KERNEL.format("__shared__ T a[70000];"), 70_000),
    "given by the launch": (KERNEL.format("extern __shared__ float a[];"), 0),
    "not told": ("const int n = 5; void f(int n) {}\n" + KERNEL.format("__shared__ float4 a[n * 100000];"), 0),
    "no device code": ("struct S { int a[100000]; }; void f() { int b[100000]; }\n" + KERNEL.format(""), 0),
}  # fmt: skip


@pytest.mark.parametrize("case", STATIC)
def test_arrays_of_a_kernel_are_summed(case: str) -> None:
    text, size = STATIC[case]
    assert _find(text) == ([("static-shared-memory", f"{size} bytes")] if size else [])


DYNAMIC = {
    "int n = 96 * 1024; cudaFuncSetAttribute(k<float, 4>, cudaFuncAttributeMaxDynamicSharedMemorySize, n);": 98_304,
    "int n = 96 * 1024; n = 3; cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, n);": 0,
    "cudaFuncSetAttribute(k, cudaFuncAttributePreferredSharedMemoryCarveout, 100000);": 0,
    "cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 99 << 10);": 101_376,
    "constexpr size_t n = sizeof(float) * 128 * 200; k<<<dim3(1, 2), 64, n, s>>>(p);": 102_400,
    "k<<<1, 64, (size_t)(65536)>>>(p);": 0,
    "k<T, 4><<<1, 64, size>>>(p);": 0,
    "cudaLaunchConfig_t c; c.dynamicSmemBytes = 100000;": 100_000,
    "cudaLaunchKernel((void *)k, g, b, a, 70000, s);": 70_000,
}


@pytest.mark.parametrize("text", DYNAMIC)
def test_what_a_launch_asks_for(text: str) -> None:
    size = DYNAMIC[text]
    found = [item for item in _find(f"void f() {{ {text} }}") if item[0] != "api-signature"]  # HIP's other enumeration
    assert found == ([("shared-memory", f"{size} bytes")] if size else [])


@pytest.mark.parametrize(
    ("arch", "largest"), [("gfx90a", 65_536), ("gfx942", 65_536), ("gfx950", 163_840), ("gfx1100", 65_536)]
)
def test_each_gpu_has_its_own_limit(arch: str, largest: int) -> None:
    for size, found in ((largest, 0), (largest + 16, 1)):
        assert len(_find(KERNEL.format(f"__shared__ char a[{size}];"), arch)) == found
        assert len(_find(f"void f() {{ k<<<1, 1, {size}>>>(); }}", arch)) == found


@pytest.mark.parametrize(
    ("code", "expression", "value"),
    [
        ("", "(1 << 4) | 3", 19),
        ("", "static_cast<int>(7) / (int)2", 3),
        ("", "sizeof(unsigned int) * 3", 12),
        ("", "sizeof(struct_of_ours)", None),
        ("", "4 * 1.5", None),
        ("", "1 / 0", None),
        ("const int a = b;\nconst int b = a;", "a", None),
        ("constexpr int a{4};", "a * a", 16),
        ("static const unsigned int a = 4; void f() { a + 1; }", "a", 4),
        ("const int a = 4; const int a = 5;", "a", None),
        ("int a = 4; a++;", "a", None),
        ("int a = 4; f(&a);", "a", None),
        ("int a = 4; x.a = 5;", "a", 4),
        ("template <int a> void f();", "a", None),
        ("enum class K : int { a = 2 + 1, b };", "a", 3),
        ("".join(f"const int a{i} = a{i + 1} + a{i + 1};\n" for i in range(40)) + "const int a40 = 1;", "a0", 1 << 40),
        ("".join(f"const int a{i} = a{i + 1} + 1;\n" for i in range(4000)), "a0", None),
    ],
)
def test_an_expression_comes_to_a_number_or_is_not_known(code: str, expression: str, value: int | None) -> None:
    assert Constants(code, {}).evaluate(expression) == value


MASKS = {
    "constexpr unsigned n = 0xffffffff;\n__device__ int f(int v) { return __shfl_sync(n, v, 0); }": "mask-literal",
    "__device__ int f(int v) { const unsigned m{0xffffffffu}; return __shfl_sync(m, v, 0); }": "mask-literal",
    "__device__ int f(int v) { unsigned m = -1; return __shfl_sync(m, v, 0); }": "mask-literal",
    "__device__ int f(int v) { unsigned m = -1; m &= 3; return __shfl_sync(m, v, 0); }": "mask-value",
    "__device__ int f(int v, unsigned m) { return __shfl_sync(m, v, 0); }\nconst unsigned m = -1;": "mask-value",
    "template <unsigned m = 0xffffffff> __device__ int f(int v) { return __shfl_sync(m, v, 0); }": "mask-value",
}


@pytest.mark.parametrize("text", MASKS)
def test_a_mask_by_name(text: str) -> None:
    assert [rule for rule, _ in _find(text)] == [MASKS[text]]
