"""Instruction text → a whole kernel: each lane loads three 64-bit values, runs the text, stores a 64-bit result.

In the text v[2:3], v[4:5], v[6:7] are the inputs a, b, c; v[8:9] is the result, zero before; s[20:21] is 0x5a5a…5a.
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import numpy as np

import gfxemu
import llvm

LANES = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1201": 32}
MASK = 0x5A5A5A5A5A5A5A5A
HEADER = """
.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
.text
.globl k
.p2align 8
.type k,@function
k:
"""
FOOTER = """
s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 64
  .amdhsa_next_free_sgpr 64
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_float_denorm_mode_32 3
  .amdhsa_group_segment_fixed_size {lds}
  {extra}
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 40
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: {lanes}
    .sgpr_count: 64
    .vgpr_count: 64
    .max_flat_workgroup_size: 1024
    .args:
      - {{.size: 8, .offset: 0, .value_kind: global_buffer}}
      - {{.size: 8, .offset: 8, .value_kind: global_buffer}}
      - {{.size: 8, .offset: 16, .value_kind: global_buffer}}
      - {{.size: 8, .offset: 24, .value_kind: global_buffer}}
...
.end_amdgpu_metadata
"""


def is_new(arch: str) -> bool:
    """RDNA: other names for loads."""
    return arch.startswith("gfx1")


def wait_all(arch: str) -> str:
    """A wait for everything."""
    if arch.startswith("gfx12"):
        return "s_wait_loadcnt 0\ns_wait_dscnt 0\ns_wait_kmcnt 0\ns_wait_storecnt 0"
    return "s_waitcnt vmcnt(0) lgkmcnt(0)" + ("\ns_waitcnt_vscnt null, 0x0" if is_new(arch) else "")


def words(arch: str) -> dict[str, str]:
    """What generations call the same things, by one name, for str.format."""
    wide = {"b": "b64", "lo": "", "save": "s[22:23]"} if LANES[arch] == 64 else {"b": "b32", "lo": "_lo", "save": "s22"}
    old = {"ds_load": "ds_read_b32", "ds_store": "ds_write_b32", "dword": "dword", "u32": "", "andnot": "andn2"}
    new = {"ds_load": "ds_load_b32", "ds_store": "ds_store_b32", "dword": "b32", "u32": "_u32", "andnot": "and_not1"}
    barrier = "s_barrier_signal -1\ns_barrier_wait -1" if arch.startswith("gfx12") else "s_barrier"
    return wide | (new if is_new(arch) else old) | {"wait": wait_all(arch), "barrier": barrier}


def prologue(arch: str) -> str:
    """Inputs into v[2:7], v1 = 8 * lane, s[8:15] = a, b, c, out."""
    load = "global_load_b64" if is_new(arch) else "global_load_dwordx2"
    return "\n".join(
        (
            f"s_load_{'b256' if is_new(arch) else 'dwordx8'} s[8:15], s[0:1], 0x0",
            "v_and_b32 v0, 0x3ff, v0",
            "v_lshlrev_b32 v1, 3, v0",
            wait_all(arch),
            *(f"{load} v[{2 + 2 * k}:{3 + 2 * k}], v1, s[{8 + 2 * k}:{9 + 2 * k}]" for k in range(3)),
            "v_mov_b32 v8, 0",
            "v_mov_b32 v9, 0",
            "s_mov_b32 s20, 0x5a5a5a5a",
            "s_mov_b32 s21, 0x5a5a5a5a",
            wait_all(arch),
        )
    )


def epilogue(arch: str) -> str:
    """Store v[8:9]."""
    return f"{'global_store_b64' if is_new(arch) else 'global_store_dwordx2'} v1, v[8:9], s[14:15]"


def make_source(arch: str, body: str, lds: int = 0, *, wrapped: bool = True, extra: str = "") -> str:
    """The kernel's whole assembly."""
    accumulators = ".amdhsa_accum_offset 64" if not is_new(arch) else ".amdhsa_wavefront_size32 1"
    text = "\n".join((prologue(arch), body, epilogue(arch))) if wrapped else body
    footer = FOOTER.format(lds=lds, lanes=LANES[arch], extra=accumulators + "\n  " + extra)
    return HEADER.format(arch=arch) + text + footer


@functools.cache
def build(arch: str, body: str, lds: int = 0, *, wrapped: bool = True, extra: str = "") -> gfxemu.CodeObject:
    """Assembled by LLVM, linked, loaded."""
    with tempfile.TemporaryDirectory() as folder:
        return gfxemu.load(
            llvm.assemble(make_source(arch, body, lds, wrapped=wrapped, extra=extra), arch, Path(folder))
        )


def run(code: gfxemu.CodeObject, a: np.ndarray, b: np.ndarray, c: np.ndarray, **options: object) -> np.ndarray:
    """Launch one workgroup of as many lanes as inputs; the 64-bit results."""
    memory = gfxemu.Memory()
    inputs = [
        memory.allocate(np.ascontiguousarray(x).astype(np.uint64), name)
        for x, name in zip((a, b, c), "abc", strict=True)
    ]
    out = memory.allocate(np.zeros(len(a), np.uint64), "out")
    gfxemu.launch(
        code.kernels["k"],
        grid=(1, 1, 1),
        block=(len(a), 1, 1),
        kernarg=llvm.pack_args(*inputs, out),
        memory=memory,
        **options,
    )  # type: ignore[arg-type]
    return np.frombuffer(memory.read(out, 8 * len(a)), np.uint64).copy()
