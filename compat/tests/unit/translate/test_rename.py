"""Renaming: what changes, what is left alone, that twice is once, and that no finding is new."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hipcompat.facts import read_facts
from hipcompat.scan import RULES, Target
from hipcompat.scan.scanner import Scanned, scan_bytes
from hipcompat.scan.tree import Candidate
from hipcompat.translate import rename

RUNTIME = b"#include <hip/hip_runtime.h>\n"
CU = Path("k.cu")
HEADER = Path("k.cuh")
OWN_LANES = "__activemask() & (0xffffffffull << (__lane_id() & 32))"
OWN_ACTIVE = "static_cast<unsigned int>(__activemask() >> (__lane_id() & 32))"
WIDENED = "static_cast<unsigned long long>(static_cast<unsigned int>(m))"

CASES = {
    "a runtime call": ("cudaMalloc(&p, 4);", "hipMalloc(&p, 4);"),
    "a constant": ("x = CUBLASLT_EPILOGUE_GELU_BIAS;", "x = HIPBLASLT_EPILOGUE_GELU_BIAS;"),
    "a header": ("#include <cuda_fp16.h>\n", "#include <hip/hip_fp16.h>\n"),
    "a header in quotes": ('#include "cuda_runtime.h"\n', '#include "hip/hip_runtime.h"\n'),
    "a header of cub": ("#include <cub/block/block_scan.cuh>\n", "#include <hipcub/block/block_scan.hpp>\n"),
    "the namespace cub": ("cub::BlockScan<int, 64> s;", "hipcub::BlockScan<int, 64> s;"),
    "an alias of cub": ("namespace q = cub;", "namespace q = hipcub;"),
    "bf16 by its newer type": ("__nv_bfloat16 x;", "__hip_bfloat16 x;"),
    "a struct": ("struct cudaGraphicsResource *r;", "struct _hipGraphicsResource *r;"),
    "a version of CUDA stays": ("#if CUDART_VERSION >= 12000\n#endif\n", "#if CUDART_VERSION >= 12000\n#endif\n"),
    "a launch stays": ("k<<<1, 64, 0, cudaStreamPerThread>>>(p);", "k<<<1, 64, 0, hipStreamPerThread>>>(p);"),
    "a shuffle": ("__shfl_down_sync(0xffffffff, v, 1)", "__shfl_down_sync(__activemask(), v, 1, 32)"),
    "a wave counted by warpSize": (
        "__global__ void k(int v) { for (int m = warpSize / 2; m; m /= 2) v += __shfl_xor_sync(0xffffffff, v, m); }",
        ("__global__ void k(int v) { for (int m = warpSize / 2; m; m /= 2) "
        "v += __shfl_xor_sync(__activemask(), v, m, warpSize); }"),
    ),
    "a wave counted by a macro of warpSize": (
        "#define W warpSize\n__device__ int f(int v, int m) { m = W / 2; return __shfl_xor_sync(-1, v, m); }",
        ("#define W warpSize\n__device__ int f(int v, int m) { m = W / 2; "
        "return __shfl_xor_sync(__activemask(), v, m, warpSize); }"),
    ),
    "a macro of a file that uses warpSize": (
        "#define S(v, m) __shfl_xor_sync(-1, v, m)\n__device__ int f() { return warpSize; }",
        "#define S(v, m) __shfl_xor_sync(__activemask(), v, m, warpSize)\n__device__ int f() { return warpSize; }",
    ),
    "another function's warpSize": (
        "__device__ int f() { return warpSize; }\n__device__ int g(int v) { return __shfl_sync(-1, v, 0); }",
        ("__device__ int f() { return warpSize; }\n"
        "__device__ int g(int v) { return __shfl_sync(__activemask(), v, 0, 32); }"),
    ),
    "the host's warpSize": (
        "int n = prop.warpSize; int f(int v) { return __shfl_sync(-1, v, 0); }",
        "int n = prop.warpSize; int f(int v) { return __shfl_sync(__activemask(), v, 0, 32); }",
    ),
    "a helper that gets warpSize": (
        ("__device__ int f(int v, int n) { return __shfl_xor_sync(-1, v, n / 2); }\n"
        "__global__ void k() { f(1, warpSize); }"),
        ("__device__ int f(int v, int n) { return __shfl_xor_sync(__activemask(), v, n / 2, warpSize); }\n"
        "__global__ void k() { f(1, warpSize); }"),
    ),
    "a helper of a helper": (
        ("__device__ int f(int n) { return __shfl_sync(-1, n, 0); } __device__ int h(int a, int w) { return f(w); }\n"
        "__device__ int g(int n) { return __shfl_sync(-1, n, 0); }\n__global__ void k() { h(3, warpSize); g(4); }"),
        ("__device__ int f(int n) { return __shfl_sync(__activemask(), n, 0, warpSize); } "
        "__device__ int h(int a, int w) { return f(w); }\n"
        "__device__ int g(int n) { return __shfl_sync(__activemask(), n, 0, 32); }\n"
        "__global__ void k() { h(3, warpSize); g(4); }"),
    ),
    "votes of a wave": (
        ("__device__ int f(int p) { if (__any_sync(~0u, p)) return __popc(__ballot_sync(~0u, p)) + warpSize; "
        "return __ffs(p); }"),
        ("__device__ int f(int p) { if (__any_sync(__activemask(), p)) "
        "return __popcll(__ballot_sync(__activemask(), p)) + warpSize; return __ffs(p); }"),
    ),
    "a ballot of a wave in 32 bits stays one": (
        "__device__ unsigned f(int p) { p /= warpSize; return __ballot_sync(~0u, p); }",
        "__device__ unsigned f(int p) { p /= warpSize; return __ballot_sync(__activemask(), p); }",
    ),
    "a pasted name": (
        "#define C(f) cuda##f()\n#define D(x) CUBLAS_##x\n#define E(x) cudaMemcpy##x cudaFoo##x x##_cuda\n",
        "#define C(f) hip##f()\n#define D(x) HIPBLAS_##x\n#define E(x) hipMemcpy##x hipFoo##x x##_cuda\n",
    ),
    "the active mask": (
        "__shfl_sync(__activemask(), v, 0); __any_sync(__activemask(), p); b = __ballot_sync(__activemask(), p);",
        (f"__shfl_sync(__activemask(), v, 0, 32); __any_sync({OWN_LANES}, p); "
        f"b = static_cast<unsigned int>(__ballot_sync({OWN_LANES}, p) >> (__lane_id() & 32));"),
    ),
    "the active mask by a macro": (
        "#define M __activemask()\nint f(int v) { return __shfl_sync(M, v, 0); }",
        (f"#define M {OWN_ACTIVE}\nint f(int v) {{ return __shfl_sync(__activemask(), v, 0, 32); }}"),
    ),
    "the active mask of a wave": (
        ("__device__ int f(int v) { v = __shfl_sync(__activemask(), v, warpSize - 1); "
        "return __any_sync(__activemask(), v); }"),
        ("__device__ int f(int v) { v = __shfl_sync(__activemask(), v, warpSize - 1, warpSize); "
        "return __any_sync(__activemask(), v); }"),
    ),
    "the active mask in a variable": (
        "unsigned m = __activemask(); int n = __popc(__activemask()); __shfl_sync(m, v, 0);",
        (f"unsigned m = {OWN_ACTIVE}; int n = __popc({OWN_ACTIVE}); "
        f"__shfl_sync({WIDENED} << (__lane_id() & 32), v, 0, 32);"),
    ),
    "a shuffle and votes without a mask": (
        "__shfl(v, 0); __shfl_xor(v, 1, 16); __any(p); n = __popc(__ballot(p));",
        (f"__shfl(v, 0, 32); __shfl_xor(v, 1, 16); __any_sync({OWN_LANES}, p); "
        f"n = __popc(static_cast<unsigned int>(__ballot_sync({OWN_LANES}, p) >> (__lane_id() & 32)));"),
    ),
    "calls after an operator": (
        "n = 2 * __any(p) + (m & __activemask()) + (1 > __shfl(v, 0));",
        f"n = 2 * __any_sync({OWN_LANES}, p) + (m & {OWN_ACTIVE}) + (1 > __shfl(v, 0, 32));",
    ),
    "what is HIP's already stays": (
        "#ifdef USE_ROCM\n#define S(v) __shfl(v, 0)\n#else\n#define S(v) __shfl_sync(-1, v, 0)\n#endif\n",
        ("#ifdef USE_ROCM\n#define S(v) __shfl(v, 0)\n#else\n"
        "#define S(v) __shfl_sync(__activemask(), v, 0, 32)\n#endif\n"),
    ),
    "a file that is HIP's already stays": (
        "#include <hip/hip_runtime.h>\nint f(int v) { return __shfl(v, 0) + __shfl_sync(__activemask(), v, 0); }\n",
        "#include <hip/hip_runtime.h>\nint f(int v) { return __shfl(v, 0) + __shfl_sync(__activemask(), v, 0); }\n",
    ),
    "functions of the file's own stay": (
        "#define __shfl(v, l) g(v, l)\n__device__ int __any(int p) { return p; }\nint h = __any(1) + __shfl(1, 2);",
        "#define __shfl(v, l) g(v, l)\n__device__ int __any(int p) { return p; }\nint h = __any(1) + __shfl(1, 2);",
    ),
    "a mask of some lanes": (
        "__shfl_sync(0xffff, v, 0, 16); __any_sync(0xf0u, p); __syncwarp(0xff);",
        ("__shfl_sync(0xffffull << (__lane_id() & 32), v, 0, 16); "
        "__any_sync(0xf0ull << (__lane_id() & 32), p); __syncwarp();"),
    ),
    "a mask in 32 bits": (
        "void f(int v, unsigned m) { __shfl_down_sync(m & (1u << 3), v, 1); }",
        ("void f(int v, unsigned m) { __shfl_down_sync(static_cast<unsigned long long>(static_cast<unsigned int>("
        "m & (1u << 3))) << (__lane_id() & 32), v, 1, 32); }"),
    ),
    "a mask of a ballot": (
        "unsigned m = __ballot_sync(-1, c); __ballot_sync(m, v);",
        (f"unsigned m = static_cast<unsigned int>(__ballot_sync({OWN_LANES}, c) >> (__lane_id() & 32)); "
        f"static_cast<unsigned int>(__ballot_sync({WIDENED} << (__lane_id() & 32), v) >> (__lane_id() & 32));"),
    ),
    "masks of 64 bits by their declarations stay": (
        "void f(unsigned long long m, T t) { __shfl_sync(m, v, 0); __shfl_sync(t, v, 0); __any_sync(0xffull, p); }",
        "void f(unsigned long long m, T t) { __shfl_sync(m, v, 0); __shfl_sync(t, v, 0); __any_sync(0xffull, p); }",
    ),
    "a mask of 32 bits for a wave stays, and is an error": (
        "__device__ int f(int v, unsigned m) { return __shfl_xor_sync(m, v, warpSize / 2); }",
        "__device__ int f(int v, unsigned m) { return __shfl_xor_sync(m, v, warpSize / 2); }",
    ),
    "a mask of 32 bits with a width in code for a wave": (
        "__device__ int f(int v, unsigned m) { v /= warpSize; return __shfl_xor_sync(0xffff, v, 1, 16); }",
        ("__device__ int f(int v, unsigned m) { v /= warpSize; "
        "return __shfl_xor_sync(0xffffull << (__lane_id() & 32), v, 1, 16); }"),
    ),
    "a shuffle with a width": ("__shfl_sync(-1, v, 0, 16)", "__shfl_sync(__activemask(), v, 0, 16)"),
    "a shuffle by warpSize": (
        "__shfl_xor_sync(~0u, v, warpSize / 2)", "__shfl_xor_sync(__activemask(), v, warpSize / 2, warpSize)",
    ),
    "nested shuffles": (
        "__shfl_sync(0xffffffffu, __shfl_sync(0xffffffffu, v, 1), 0)",
        "__shfl_sync(__activemask(), __shfl_sync(__activemask(), v, 1, 32), 0, 32)",
    ),
    "a mask of a macro": (
        "#define FULL 0xffffffff\nint f(int v) { return __shfl_sync(FULL, v, 0); }",
        "#define FULL 0xffffffff\nint f(int v) { return __shfl_sync(__activemask(), v, 0, 32); }",
    ),
    "a vote": (
        "__any_sync(0xffffffff, p)", f"__any_sync({OWN_LANES}, p)",
    ),
    "a ballot": (
        "b = __ballot_sync(0xffffffff, p);",
        f"b = static_cast<unsigned int>(__ballot_sync({OWN_LANES}, p) >> (__lane_id() & 32));",
    ),
    "syncwarp": ("__syncwarp(0xffffffff);", "__syncwarp();"),
    "a mask that is a value stays": ("__shfl_sync(mask, v, 0);", "__shfl_sync(mask, v, 0);"),
    "a mask of 64 bits stays": ("__shfl_sync(~0ull, v, 0);", "__shfl_sync(~0ull, v, 0);"),
    "a kernel where HIP wants a pointer": (
        "cudaFuncSetAttribute(k, cudaFuncAttributePreferredSharedMemoryCarveout, 50);",
        "hipFuncSetAttribute(reinterpret_cast<const void *>(k), hipFuncAttributePreferredSharedMemoryCarveout, 50);",
    ),
    "a template of two arguments": (
        "x = cudaFuncSetCacheConfig( k<int, (4 > 3)> , c);",
        "x = hipFuncSetCacheConfig( reinterpret_cast<const void *>(k<int, (4 > 3)>) , c);",
    ),
    "a kernel that is a pointer already": (
        "cudaFuncGetAttributes(&a, (const void *)k); cudaLaunchKernel(reinterpret_cast<void*>(k), 1, 1, p);",
        "hipFuncGetAttributes(&a, (const void *)k); hipLaunchKernel(reinterpret_cast<void*>(k), 1, 1, p);",
    ),
    "a launch by name": (
        "cudaLaunchKernel(k, g, b, p, 0, s); cudaLaunchCooperativeKernel(k, g, b, p);",
        ("hipLaunchKernel(reinterpret_cast<const void *>(k), g, b, p, 0, s); "
        "hipLaunchCooperativeKernel(k, g, b, p, 0, nullptr);"),
    ),
    "a prototype stays": (
        "cudaError_t cudaLaunchKernel(const void *f, dim3 g, dim3 b, void **a, size_t n, cudaStream_t s);",
        "hipError_t hipLaunchKernel(const void *f, dim3 g, dim3 b, void **a, size_t n, hipStream_t s);",
    ),
    "an event with flags": (
        "return cudaEventCreate(&e, cudaEventDefault);", "return hipEventCreateWithFlags(&e, hipEventDefault);",
    ),
    "an event without": ("cudaEventCreate(&e[0]);", "hipEventCreate(&e[0]);"),
    "a graph of CUDA 12": (
        "cudaGraphInstantiate(&e, g); cudaGraphInstantiate(&e, g, 0); cudaGraphInstantiate(&e, g, 0, 0, 0);",
        ("hipGraphInstantiateWithFlags(&e, g, 0); hipGraphInstantiateWithFlags(&e, g, 0); "
        "hipGraphInstantiate(&e, g, 0, 0, 0);"),
    ),
    "a host's pointer": (
        "cudaHostGetDevicePointer(&p, h, 0); cudaHostGetDevicePointer((void **)&p, h, 0);",
        "hipHostGetDevicePointer(reinterpret_cast<void **>(&p), h, 0); hipHostGetDevicePointer((void **)&p, h, 0);",
    ),
    "a copy without its defaults": (
        "cudaMemcpyFromSymbolAsync(h, s, 4);", "hipMemcpyFromSymbolAsync(h, s, 4, 0, hipMemcpyDeviceToHost);",
    ),
    "a symbol in a graph": (
        ("cudaGraphMemcpyNodeSetParamsToSymbol(n, s, h, 4, 0, k); "
        "cudaGraphMemcpyNodeSetParamsToSymbol(n, &s, h, 4, 0, k);"),
        ("hipGraphMemcpyNodeSetParamsToSymbol(n, reinterpret_cast<const void *>(&s), h, 4, 0, k); "
        "hipGraphMemcpyNodeSetParamsToSymbol(n, &s, h, 4, 0, k);"),
    ),
    "an object that is deleted": (
        "cudaUserObjectCreate(&o, held, 1, f);",
        "hipUserObjectCreate(&o, held, [](void *object) { delete static_cast<decltype(+(held))>(object); }, 1, f);",
    ),
    "a place of memory": (
        "cudaMemLocation l; cudaMemAdvise(p, 4, a, l); cudaMemAdvise(p, 4, a, 0); cudaMemPrefetchAsync(p, 4, l, 0, s);",
        ("hipMemLocation l; hipMemAdvise_v2(p, 4, a, l); hipMemAdvise(p, 4, a, 0); "
        "hipMemPrefetchAsync_v2(p, 4, l, 0, s);"),
    ),
    "a question for a header": (
        "#ifdef __DRIVER_TYPES_H__\n#endif\n#if defined(CUBLAS_API_H_) || X\n#endif\nint __DRIVER_TYPES_H__;",
        ("#ifdef HIP_INCLUDE_HIP_DRIVER_TYPES_H\n#endif\n#if defined(HIPBLAS_H) || X\n#endif\n"
        "int __DRIVER_TYPES_H__;"),
    ),
    "a guard of its own": (
        "#ifndef CURAND_H_\n#define CURAND_H_\n#endif\n", "#ifndef CURAND_H_\n#define CURAND_H_\n#endif\n",
    ),
    "an object by a name of CUDA's": (
        "cudaUserObjectCreate(&o, (cudaArray *)held, 1, f);",
        ("hipUserObjectCreate(&o, (hipArray *)held, "
        "[](void *object) { delete static_cast<decltype(+((hipArray *)held))>(object); }, 1, f);"),
    ),
    "a lane beside an unfinished string": (
        '__global__ void k(; { x = threadIdx.x & 31; __shfl_sync(-1, v, 0); "',
        '__global__ void k(; { x = threadIdx.x & 31; __shfl_sync(__activemask(), v, 0, 32); "',
    ),
    "a device pointer named h": ("void f(CUdeviceptr h) {}\n", "void f(hipDeviceptr_t h) {}\n"),
    "a comment stays": ("// cudaMalloc\n/* cub::X */", "// cudaMalloc\n/* cub::X */"),
    "a string stays": ('x = "cudaMalloc";', 'x = "cudaMalloc";'),
    "dead code stays": ("#if 0\ncudaMalloc();\n#endif\n", "#if 0\ncudaMalloc();\n#endif\n"),
    "a spliced line": ("#define F cuda\\\nMalloc(1)\n", "#define F hipMalloc(1)\n"),
    "bytes that are no UTF-8": ("x\xb5 = cudaSuccess;", "x\xb5 = hipSuccess;"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_one_place(case: str) -> None:
    before, after = (text.encode("latin-1") for text in CASES[case])
    assert rename(before, HEADER).content == after


@pytest.mark.parametrize("case", CASES)
def test_twice_is_once_and_no_finding_is_new(case: str) -> None:
    source = CASES[case][0].encode("latin-1")
    once = rename(source, CU).content
    assert rename(once, CU).content == once
    assert not _findings(once) - _findings(source)


def _findings(content: bytes) -> Counter[str]:
    file = Candidate(path="k.cu", language="cuda", size_bytes=len(content))
    scanned = scan_bytes(content, file, Target(archs=("gfx90a", "gfx942", "gfx1100")))
    assert isinstance(scanned, Scanned)
    return Counter(finding.rule for finding in scanned.report.findings)


@pytest.mark.parametrize("rule", [rule.id for rule in RULES.values() if rule.language == "cuda"])
def test_the_rules_examples_gain_no_finding(rule: str) -> None:
    source = RULES[rule].example.encode()
    once = rename(source, CU).content
    assert rename(once, CU).content == once
    assert not _findings(once) - _findings(source)


def test_what_is_too_new_stays_a_finding() -> None:
    source = b"void f() { cudaStreamGetId(s, &i); cudaMemPrefetchAsync(p, 4, place, 0, s); }"
    assert _findings(source) == _findings(rename(source, HEADER).content) == {"api-too-new": 2}
    named = b"typedef CUresult tcuStreamGetId(CUstream s, unsigned long long *i); tcuStreamGetId *cuStreamGetId;"
    assert not _findings(rename(named, HEADER).content)


def test_c_has_no_overloads() -> None:
    source = b"cudaEventCreate(&e); cudaFuncSetAttribute(k, a, 1);"
    assert rename(source, Path("k.c")).content == b"hipEventCreate(&e); hipFuncSetAttribute(k, a, 1);"


def test_nvcc_includes_the_runtime_by_itself_and_clang_does_not() -> None:
    assert rename(b"__global__ void k() {}\n", CU).content == RUNTIME + b"__global__ void k() {}\n"
    assert rename(b"__global__ void k() {}\n", HEADER).content == b"__global__ void k() {}\n"


def test_sources_for_nvrtc_are_translated_when_asked() -> None:
    source = b'const char *s = R"(__global__ void k(cudaTextureObject_t t) {})";\n'
    assert rename(source, HEADER).content == source
    assert b"hipTextureObject_t" in rename(source, HEADER, strings=True).content


STRINGS = {
    "raw": (
        'R"(__global__ void k(int v) { v = __shfl_down_sync(0xffffffff, v, 1); })"',
        'R"(__global__ void k(int v) { v = __shfl_down_sync(__activemask(), v, 1, 32); })"',
    ),
    "side by side": (
        '"__global__ void k(int v) { v = __shfl_down_sync(" /* */ "0xffffffff, v,\\n" "1); }\\n"',
        '"__global__ void k(int v) { v = __shfl_down_sync(" /* */ "__activemask(), v,\\n" "1, 32); }\\n"',
    ),
    "a mask in two literals stays": (
        '"__global__ void k(int v) { __any_sync(~" "0, v); }"', '"__global__ void k(int v) { __any_sync(~" "0, v); }"',
    ),
    "no device code stays": ('"__shfl_down_sync(0xffffffff, v, 1)"', '"__shfl_down_sync(0xffffffff, v, 1)"'),
}  # fmt: skip


@pytest.mark.parametrize("case", STRINGS)
def test_masks_of_sources_for_nvrtc_are_translated_when_asked(case: str) -> None:
    before, after = (f"const char *s = {text};\n".encode() for text in STRINGS[case])
    assert rename(before, HEADER).content == before
    assert rename(before, HEADER, strings=True).content == after
    assert rename(after, HEADER, strings=True).content == after


def test_includes_of_sources_follow_their_new_names() -> None:
    source = b'#include "kernels/scan.cu"\n'
    assert rename(source, HEADER, renames_sources=True).content == b'#include "kernels/scan.hip"\n'
    assert rename(source, HEADER).content == source


def test_utf_16_and_binary_come_back_as_they_are() -> None:
    for content in ("cudaMalloc".encode("utf-16"), b"\0\1cudaMalloc"):
        assert rename(content, CU).content == content


def test_a_byte_order_mark_stays() -> None:
    assert rename(b"\xef\xbb\xbfcudaFree(p);", HEADER).content == b"\xef\xbb\xbfhipFree(p);"


WORDS = st.sampled_from((
    "cudaMalloc", "cub", "::", "BlockScan", "__shfl_sync", "(", ")", ",", "0xffffffff", "v", "\n", "#if 0\n",
    "#endif\n", '"', "'", "/*", "*/", "//", "\\\n", 'R"(', ')"', "<<<", ">>>", "__ballot_sync", "-1", " ",
    "#include <cuda.h>\n", "#define M ", "__global__ void k() ", "{", "}", ";", "namespace ", "=", "warpSize",
    "__syncwarp", "cudaGraphicsResource", "__any_sync", "static_cast<int>", "hipcub", "using ", "\xb5",
    "unsigned m", "__shfl", "__ballot", "0xffff", "m", "#ifdef __HIPCC__\n", "#else\n",
    "__activemask()", "cudaLaunchKernel(k<int, 4>, 1, 1, p)", "cudaEventCreate(&e, 2)", "cudaFuncSetAttribute(",
    "cudaGraphInstantiate(", "cudaUserObjectCreate(&o, p, 1, 0)", "<", ">", "(const void *)",
    '#include "cuda_runtime.h"\n',
))  # fmt: skip


@given(st.lists(st.one_of(WORDS, st.sampled_from(sorted(read_facts()))), max_size=40))
@settings(max_examples=400, deadline=None)
def test_any_text_translated_twice_is_translated_once(words: list[str]) -> None:
    source = "".join(words).encode("latin-1", "replace")
    once = rename(source, CU, strings=True).content
    assert rename(once, CU, strings=True).content == once
