"""Every instruction of compiled code reads as LLVM reads it: address, mnemonic, operands, modifiers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import gfxemu
import kernels
import llvm
from gfxemu.decode import decode_all, read_table

HIP = Path(__file__).parent / "device.hip"
ARCHES = (*kernels.WARP, "gfx1101", "gfx1200")
OLD = tuple(arch for arch in ARCHES if arch not in llvm.UNKNOWN_TO_19)


def compile_hip(arch: str, folder: Path) -> bytes:
    """device.hip by clang-22, device code only, without any library."""
    out = folder / "device.hsaco"
    command = [
        llvm.tool("clang", "22"),
        "-x",
        "hip",
        f"--offload-arch={arch}",
        "--cuda-device-only",
        "--no-gpu-bundle-output",
        "-nogpulib",
        "-nogpuinc",
        "-O2",
        "-Wno-everything",
        str(HIP),
        "-o",
        str(out),
    ]
    subprocess.run(command, check=True, env={"PATH": "/usr/bin:/bin"})
    return out.read_bytes()


@pytest.mark.parametrize("arch", tuple(kernels.WARP))
@pytest.mark.parametrize("name", tuple(kernels.SIGNATURES))
def test_triton_kernels_read_as_llvm_22_reads_them(arch: str, name: str, tmp_path: Path) -> None:
    assert llvm.compare(kernels.build(name, arch).hsaco, "22", tmp_path) > 20


@pytest.mark.parametrize("arch", [arch for arch in OLD if arch in kernels.WARP])
def test_triton_kernels_read_as_llvm_19_reads_them(arch: str, tmp_path: Path) -> None:
    assert llvm.compare(kernels.build("matmul", arch).hsaco, "19", tmp_path) > 20


@pytest.mark.parametrize("arch", ARCHES)
def test_hip_code_reads_as_llvm_22_reads_it(arch: str, tmp_path: Path) -> None:
    assert llvm.compare(compile_hip(arch, tmp_path), "22", tmp_path) > 100


@pytest.mark.parametrize("arch", tuple(kernels.WARP))
def test_compiled_kernels_have_no_unknown_opcode(arch: str) -> None:
    for name in kernels.SIGNATURES:
        assert not gfxemu.load(kernels.build(name, arch).hsaco).unknown()


def test_neighbours_share_one_table(tmp_path: Path) -> None:
    for arch in ("gfx1101", "gfx1200"):
        code = gfxemu.load(compile_hip(arch, tmp_path))
        assert not [item for item in code.instructions if item.mnemonic == "unknown"]


def test_what_is_no_instruction_is_unknown_and_four_bytes_long() -> None:
    found = decode_all(b"\xff\xff\xff\xff" + (0xBF810000).to_bytes(4, "little"), "gfx942")
    assert [item.mnemonic for item in found] == ["unknown", "s_endpgm"]


def test_tables_hold_every_format() -> None:
    assert {name for name, _ in read_table("gfx942")} >= {
        "SOP1",
        "SOP2",
        "SOPP",
        "VOP1",
        "VOP2",
        "VOP3",
        "VOP3P",
        "VOPC",
        "DS",
        "GLOBAL",
        "SMEM",
    }
