"""Small Triton kernels that CI compiles for each arch: what the emulator is held against besides assembly."""

# ruff: noqa: N803, PLR0917  # Triton kernels: constexprs are upper case, pointers and sizes positional
from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

WARP = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1201": 32}
BUILD = {"TRITON_HIP_LLD_PATH": "/usr/bin/ld.lld-22", "TRITON_DISABLE_LINE_INFO": "1"}


@triton.jit
def softmax(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    values = tl.exp(values - tl.max(values, 0))
    tl.store(y + row * columns + at, values / tl.sum(values, 0), mask=at < columns)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, columns, inner = (
        tl.program_id(0) * BM + tl.arange(0, BM),
        tl.program_id(1) * BN + tl.arange(0, BN),
        tl.arange(0, BK),
    )
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        left = tl.load(
            a + rows[:, None] * K + k + inner[None, :], mask=(rows[:, None] < M) & (k + inner[None, :] < K), other=0.0
        )
        right = tl.load(
            b + (k + inner[:, None]) * N + columns[None, :],
            mask=(k + inner[:, None] < K) & (columns[None, :] < N),
            other=0.0,
        )
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total, mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def dot(a, b, c, SIZE: tl.constexpr, TOTAL: tl.constexpr):
    rows, columns = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    at = rows * SIZE + columns
    total = tl.dot(tl.load(a + at), tl.load(b + at), out_dtype=TOTAL)
    tl.store(c + at, total)


@triton.jit
def scaled_dot(
    a, a_scale, b, b_scale, c, LEFT: tl.constexpr, RIGHT: tl.constexpr, LEFT_K: tl.constexpr, RIGHT_K: tl.constexpr
):
    rows, blocks = tl.arange(0, 64), tl.arange(0, 8)
    left = tl.load(a + rows[:, None] * LEFT_K + tl.arange(0, LEFT_K)[None, :])
    right = tl.load(b + rows[None, :] * RIGHT_K + tl.arange(0, RIGHT_K)[:, None])
    left_scale = tl.load(a_scale + rows[:, None] * 8 + blocks[None, :])
    right_scale = tl.load(b_scale + rows[:, None] * 8 + blocks[None, :])
    total = tl.dot_scaled(left, left_scale, LEFT, right, right_scale, RIGHT)
    tl.store(c + rows[:, None] * 64 + rows[None, :], total)


@triton.jit
def histogram(x, counts, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(counts + tl.load(x + at, mask=at < count, other=0), 1, mask=at < count)


@triton.jit
def copy_wide(x, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at) + 1.0)


@triton.jit
def wait_for_flag(flags, out):
    me = tl.program_id(0)
    if me == 0:
        while tl.atomic_cas(flags, 1, 1) != 1:
            pass
        tl.store(out, 7)
    else:
        tl.atomic_xchg(flags, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A compiled kernel: file, threads, dynamic LDS."""

    hsaco: bytes
    threads: int
    shared_bytes: int
    name: str


SIGNATURES: dict[str, tuple[Any, dict[str, str], dict[str, int]]] = {
    "softmax": (softmax, {"x": "*fp32", "y": "*fp32", "columns": "i32"}, {"BLOCK": 512}),
    "matmul": (
        matmul,
        {"a": "*fp16", "b": "*fp16", "c": "*fp32", "M": "i32", "N": "i32", "K": "i32"},
        {"BM": 32, "BN": 32, "BK": 32},
    ),
    "histogram": (histogram, {"x": "*i32", "counts": "*i32", "count": "i32"}, {"BLOCK": 256}),
    "copy_wide": (copy_wide, {"x": "*fp32", "y": "*fp32"}, {"BLOCK": 1024}),
    "wait_for_flag": (wait_for_flag, {"flags": "*i32", "out": "*i32"}, {}),
}


@functools.cache
def build(name: str, arch: str, warps: int = 4) -> Built:
    """Compile a kernel for an arch."""
    return compile_kernel(*SIGNATURES[name], arch=arch, warps=warps)


@functools.cache
def build_dot(arch: str, dtype: str, tile: int) -> Built:
    """Compile `dot` for an operand type and a width of matrix instruction."""
    total = tl.int32 if dtype == "i8" else tl.float32
    signature = {"a": f"*{dtype}", "b": f"*{dtype}", "c": "*i32" if dtype == "i8" else "*fp32"}
    return compile_kernel(dot, signature, {"SIZE": 64, "TOTAL": total}, arch=arch, warps=4, matrix_instr_nonkdim=tile)


@functools.cache
def build_scaled(left: str, right: str, tile: int) -> Built:
    """Compile `scaled_dot` for gfx950; formats are e4m3, e5m2 or e2m1, two to a byte."""
    pointers = {"e4m3": "*fp8e4nv", "e5m2": "*fp8e5", "e2m1": "*u8"}
    signature = {"a": pointers[left], "a_scale": "*u8", "b": pointers[right], "b_scale": "*u8", "c": "*fp32"}
    sizes = {f"{side}_K": 128 if kind == "e2m1" else 256 for side, kind in (("LEFT", left), ("RIGHT", right))}
    constants = {"LEFT": left, "RIGHT": right} | sizes
    return compile_kernel(scaled_dot, signature, constants, arch="gfx950", warps=4, matrix_instr_nonkdim=tile)


def compile_kernel(
    function: Any, signature: dict[str, str], constants: dict[str, Any], *, arch: str, warps: int, **options: int
) -> Built:
    """Compile with Triton's own cache in a folder of this user."""
    folder = (
        Path(tempfile.gettempdir()) / f"gfxemu-triton-{os.getuid()}" / hashlib.sha256(arch.encode()).hexdigest()[:8]
    )
    os.environ.update(BUILD | {"TRITON_CACHE_DIR": str(folder)})
    names = list(function.arg_names)
    source = ASTSource(
        fn=function,
        signature={item: signature.get(item, "constexpr") for item in names},
        constexprs=constants,
        attrs={
            (names.index(item),): [["tt.divisibility", 16]] for item, kind in signature.items() if kind.startswith("*")
        },
    )
    compiled = triton.compile(source, target=GPUTarget("hip", arch, WARP[arch]), options={"num_warps": warps} | options)
    return Built(
        hsaco=compiled.asm["hsaco"],
        threads=warps * WARP[arch],
        shared_bytes=compiled.metadata.shared,
        name=compiled.metadata.name,
    )
