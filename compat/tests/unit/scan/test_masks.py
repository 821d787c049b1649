"""Masks of 32 bits where lanes are counted by warpSize: an error; and its neighbours, which are none."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from hipcompat.scan.finding import judge_file
from hipcompat.translate import rename
from scanned import find_in, scan_text

OTHERS = (
    "__device__ int f(int v, unsigned long long m) { return __shfl_xor_sync(m, v, warpSize / 2); }",
    "__device__ int f(int v, unsigned m) { return __shfl_xor_sync(m, v, 16) + __shfl_xor_sync(0xffffffff, v, 1); }",
    "__device__ int f(int v, unsigned m) { v /= warpSize; __syncwarp(m); return __shfl_xor_sync(m, v, 1, 32); }",
    "__device__ int f(int v) { auto m = __ballot(v / warpSize); return __any_sync(m, v); }",
    "__device__ int f(int v, mask_t m) { return __any_sync(m, v / warpSize) + __any_sync(~0ull, v); }",
)


def _rules(text: str) -> set[str]:
    return {finding.rule for finding in find_in(text)}


@pytest.mark.parametrize(
    "call", ["__shfl_sync(m, v, 0)", "__shfl_sync(m & 7, v, 0, warpSize)", "__any_sync(1u << 3, v)", "__any_sync(M, v)"]
)
def test_a_mask_of_32_bits_for_a_wave(call: str) -> None:
    text = f"#define M 0xff\n__device__ int f(int v, unsigned int m) {{ v /= warpSize; return {call}; }}"
    assert "wave-mask" in _rules(text)


@pytest.mark.parametrize("text", OTHERS)
def test_another_mask_is_none(text: str) -> None:
    assert "wave-mask" not in _rules(text)


TRANSLATED = (
    "__global__ void k(int *x) { x[threadIdx.x] = __shfl_sync(__activemask(), x[threadIdx.x], 0); }",
    "__device__ int f(int p) { return __any_sync(__activemask(), p); }",
    "#define M __activemask()\n__device__ int f(int p) { return __all_sync(M, p); }",
    "__device__ int f(int v) { return __shfl(v, 0) + 2 * __any(v); }",
    "__device__ void f(unsigned *m) { m[0] = __activemask(); }",
)
LEFT = (
    "#include <hip/hip_runtime.h>\n__device__ int f(int v) { return __shfl(v, 0); }",
    "__device__ int f(int v) { return __shfl(v, 0, 32) + __shfl_sync(__activemask(), v, 0, 16); }",
    "__device__ int f(int v) { return __shfl(v, warpSize - 1); }",
    "#ifdef __HIP__\n__device__ int f(int v) { return __any(v); }\n#endif",
)


@pytest.mark.parametrize("text", TRANSLATED)
def test_calls_that_mean_32_lanes_are_to_be_translated(text: str) -> None:
    assert "warp-call" in _rules(text)
    assert rename(text.encode(), PurePath("k.cuh")).content != text.encode()
    assert "warp-call" not in _rules(rename(text.encode(), PurePath("k.cuh")).content.decode())
    assert judge_file(find_in(text), 0) != "portable"


@pytest.mark.parametrize("text", LEFT)
def test_what_means_the_same_is_left(text: str) -> None:
    assert "warp-call" not in _rules(text)
    assert rename(text.encode(), PurePath("k.cuh")).content == text.encode()


def test_a_full_mask_in_a_string_of_python_is_an_error_where_the_same_in_a_source_is_translated() -> None:
    kernel = "__global__ void k(int *x) { x[0] = __shfl_down_sync(0xffffffff, x[0], 1); }"
    assert _rules(kernel) == {"mask-literal"}
    report = scan_text(f'k = make(r"""{kernel}""", "k")\n', "python").report
    assert {finding.rule for finding in report.findings} == {"kernel-string", "mask-string"}
    assert report.verdict == "blocked"
