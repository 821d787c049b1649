"""C++: PTX through macros, kernels and options in strings, pasted names, and values of another kind under HIP."""

from __future__ import annotations

import pytest

from scanned import find_in


def _find(text: str) -> list[tuple[str, str]]:
    return [(finding.rule, finding.detail) for finding in find_in(text)]


PTX = {
    '#define MOV "mov.u32 %0, 1;"\n__device__ void f() { asm(MOV : "=r"(r)); }': ["mov.u32"],
    '#define T ".u32"\n__device__ void f() { asm volatile("mov" T " %0, 1;" : "=r"(r)); }': ["mov.u32"],
    '#define A B\n#define B "bar.sync 0;"\n__device__ void f() { asm(A); }': ["bar.sync"],
    '#define LD(t) asm("ld.global." #t " %0, [%1];" : "=r"(a) : "l"(p))': ["ld.global.?"],
    '#define OP(o) asm(#o ".s32 %0, %1;" : "=r"(a))': ["?.s32"],
    '#define OP(o) o ".s32 %0, %1;"\n__device__ void f() { asm(OP("add") : "=r"(a)); }': ["?.s32"],
    '#define ASM asm volatile\n__device__ void f() { ASM("bar.sync 0;"); }': ["bar.sync"],
    '#define PTX(...) asm(__VA_ARGS__)\nvoid f() { PTX("bar.sync 0;" ::: "memory"); PTX("s_n"); }': ["bar.sync"],
    '__device__ void f() { asm(R"(\n  mov.u32 %0, 1;\n)" : "=r"(a)); asm(R"x(mov.b64 a, 1;)x"); }':
        ["mov.u32", "mov.b64"],
    '__device__ void f() { asm("mov.u32 %0, \\\n  %1;\\n\\\n" : "=r"(a)); }': ["mov.u32"],
    "__device__ void f() { asm(FROM_ANOTHER_FILE); }": ["a macro"],
    '#define W "s_waitcnt vmcnt(0)"\n__device__ void f() { asm volatile(W); asm volatile("" ::: "memory"); }': [],
    '#define A A\n#define B C\n#define C B\nvoid f() { asm(B); }': [],
}  # fmt: skip


@pytest.mark.parametrize("text", PTX)
def test_ptx_is_found_through_macros(text: str) -> None:
    assert _find(text) == [("inline-ptx", opcode) for opcode in PTX[text]]


@pytest.mark.parametrize(
    "text",
    [
        'const char *s = R"(extern "C" __global__ void k() {\n  __nanosleep(1); })";',
        'const char *s = "__global__ void k() {\\n"\n  "  __nanosleep(1);\\n}\\n";',
        'const char *s = u8R"x(__global__ void k() {\n  __nanosleep(1); })x" "// end";',
    ],
)
def test_a_kernel_in_a_string_is_read_at_its_place(text: str) -> None:
    findings = find_in(text)
    assert [finding.rule for finding in findings] == ["kernel-string", "device-function"]
    line = text.split("\n")[1]
    assert (findings[1].line, findings[1].column) == (2, line.index("__nanosleep") + 1)


def test_strings_without_kernels_and_in_dead_code_are_no_source() -> None:
    assert _find('const char *s = "__nanosleep(1)"; // __global__\n') == []
    assert _find('#if 0\nconst char *s = "__global__ void k() { __nanosleep(1); } -arch=sm_80";\n#endif\n') == []


def test_options_of_nvrtc_that_name_a_gpu() -> None:
    text = 'f("--gpu-architecture=compute_80", "-arch", "sm_90", "--fmad=true", "sm_80"); g("-arch=sm_%d");'
    assert _find(text) == [
        ("nvrtc-option", "--gpu-architecture=compute_80"), ("nvrtc-option", "sm_90"), ("nvrtc-option", "-arch=sm_%d"),
    ]  # fmt: skip


def test_pasted_names() -> None:
    text = "#define A(f) cuda##f\n#define B(x) CUBLAS_STATUS_##x\n#define C(a, b) a##b custom##a x##cudaFree\n"
    assert _find(text) == [("name-paste", "cuda"), ("name-paste", "CUBLAS_STATUS_"), ("name-paste", "cudaFree")]


POINTERS = {
    "void f(CUdeviceptr p, size_t n) { g(p + n); }": 1,
    "void f(CUdeviceptr p) { p += 4; ++p; p++; }": 3,
    "void f(CUdeviceptr p, CUdeviceptr q) { if (p < q || q % 16) g(p - q); }": 3,
    "void f(CUdeviceptr p) { size_t n = p; }": 1,
    "void f(CUdeviceptr p) { g((char *)p + 4, p == 0, !p, &p, p ? 1 : 2, (size_t)p % 16, s.p->a, q[p]); }": 0,
    "void f(CUdeviceptr p) { cuMemFree(p); p = 0; h(p); }\n": 0,
    "void f(CUdeviceptr p) {} void g(int p) { p + 1; }": 0,
    "void f(hipDeviceptr_t p) { g(p + 4); }": 1,
}


@pytest.mark.parametrize("text", POINTERS)
def test_a_device_pointer_is_no_number(text: str) -> None:
    assert [rule for rule, _ in _find(text)] == ["device-pointer"] * POINTERS[text]


DECISIONS = {
    "cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0); if (major >= 8) g();": "capability-check",
    "cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0); y = v == 0;": "capability-check",
    "cuDeviceComputeCapability(&a, &b, d); x = a * 10 + b;": "capability-check",
    "cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, 0); if (v >= 8) g();": "",
    "cudaDeviceGetAttribute(&v, cudaDevAttrComputeCapabilityMajor, 0); print(v);": "",
    "cudaRuntimeGetVersion(&v); if (v < 12000) g();": "runtime-version",
    "cuDriverGetVersion(&v); x = v / 1000;": "runtime-version",
    "cudaDriverGetVersion(&v); log(v);": "",
}


@pytest.mark.parametrize("text", DECISIONS)
def test_numbers_that_mean_something_else(text: str) -> None:
    assert [rule for rule, _ in _find(f"void f() {{ int v; {text} }}")] == (
        [DECISIONS[text]] if DECISIONS[text] else []
    )


WAVES = {
    "__device__ int f(int v, int n) { return __shfl_xor_sync(-1, v, n / 2); } __global__ void k() { f(1, warpSize); }":
        ["wave-width"],
    "__device__ int f(int v, int n) { return __shfl_xor_sync(-1, v, n / 2); } __global__ void k() { f(1, 32); }": [],
    "__device__ int f(int v) { return warpSize * __all_sync(-1, v); }": ["wave-width"],
    "__device__ int f(int v) { unsigned b = __ballot_sync(-1, v); return b / warpSize; }": ["ballot-32"],
    "__device__ unsigned f(int v) { v /= warpSize; return __ballot_sync(-1, v); }": ["ballot-32"],
    "__device__ int f(int v) { v /= warpSize; return __popcll(__ballot_sync(~0ull, v)); }": [],
    "__device__ int f(int v) { uint64_t b = __ballot_sync(~0ull, v); return warpSize; }": [],
}  # fmt: skip


@pytest.mark.parametrize("text", WAVES)
def test_what_counts_lanes_by_warpsize(text: str) -> None:
    assert [rule for rule, _ in _find(text) if rule != "mask-literal"] == WAVES[text]
