"""Masks of 32 bits where lanes are counted by warpSize: an error; and its neighbours, which are none."""

from __future__ import annotations

import pytest

from hipcompat.scan import Target
from hipcompat.scan.scanner import Scanned, scan_bytes
from hipcompat.scan.tree import Candidate

OTHERS = (
    "__device__ int f(int v, unsigned long long m) { return __shfl_xor_sync(m, v, warpSize / 2); }",
    "__device__ int f(int v, unsigned m) { return __shfl_xor_sync(m, v, 16) + __shfl_xor_sync(0xffffffff, v, 1); }",
    "__device__ int f(int v, unsigned m) { v /= warpSize; __syncwarp(m); return __shfl_xor_sync(m, v, 1, 32); }",
    "__device__ int f(int v) { auto m = __ballot(v / warpSize); return __any_sync(m, v); }",
    "__device__ int f(int v, mask_t m) { return __any_sync(m, v / warpSize) + __any_sync(~0ull, v); }",
)


def _rules(text: str) -> set[str]:
    content = text.encode()
    scanned = scan_bytes(content, Candidate(path="k.cu", language="cuda", size_bytes=len(content)), Target())
    assert isinstance(scanned, Scanned)
    return {finding.rule for finding in scanned.report.findings}


@pytest.mark.parametrize(
    "call", ["__shfl_sync(m, v, 0)", "__shfl_sync(m & 7, v, 0, warpSize)", "__any_sync(1u << 3, v)", "__any_sync(M, v)"]
)
def test_a_mask_of_32_bits_for_a_wave(call: str) -> None:
    text = f"#define M 0xff\n__device__ int f(int v, unsigned int m) {{ v /= warpSize; return {call}; }}"
    assert "wave-mask" in _rules(text)


@pytest.mark.parametrize("text", OTHERS)
def test_another_mask_is_none(text: str) -> None:
    assert "wave-mask" not in _rules(text)
