"""Every instruction of compiled code reads as LLVM reads it: address, mnemonic, operands, modifiers."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

import assembly
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
    assert found[0].text() == "unknown 0xffffffff"


def test_what_is_unknown_is_named_by_the_dwords_of_its_format() -> None:
    vop3p = struct.pack("<III", 0xD39F0000, 0xBF800000, 0xBF810000)
    assert decode_all(vop3p, "gfx942")[0].text() == "unknown 0xd39f0000 0xbf800000"
    assert decode_all(vop3p[:4], "gfx942")[0].text() == "unknown 0xd39f0000"
    code = assembly.build("gfx942", ".long 0xd39f0000\n.long 0xbf800000\n")
    with pytest.raises(gfxemu.UnknownOpcode, match=r"^unknown 0xd39f0000 0xbf800000: .* on gfx942"):
        assembly.run(code, *[np.zeros(64)] * 3)


IMMEDIATES = [
    ("gfx942", "s_waitcnt vmcnt(0)", "s_waitcnt 3952"),
    ("gfx942", "s_waitcnt vmcnt(63) lgkmcnt(15)", "s_waitcnt 53119"),
    ("gfx1100", "s_waitcnt vmcnt(0)", "s_waitcnt 1015"),
    ("gfx1100", "s_waitcnt_depctr depctr_va_vdst(0) depctr_vm_vsrc(2)", "s_waitcnt_depctr 3979"),
    ("gfx1100", "s_delay_alu instid0(TRANS32_DEP_2) | instskip(SKIP_2) | instid1(SALU_CYCLE_1)", "s_delay_alu 1206"),
    ("gfx1100", "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)", "s_sendmsg 3"),
    ("gfx1201", "s_getreg_b32 s0, hwreg(HW_REG_WAVE_HW_ID1, 3, 7)", "s_getreg_b32 s0, 12503"),
    ("gfx942", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3", "s_setreg_imm32_b32 2305, 3"),
]


@pytest.mark.parametrize(("arch", "named", "number"), IMMEDIATES)
def test_immediates_are_compared_field_by_field(arch: str, named: str, number: str) -> None:
    assert llvm.normalise(named, arch) == llvm.normalise(number, arch)
    name, _, value = number.rpartition(" ")
    other = f"{name} {int(value) ^ 1}"
    assert llvm.normalise(named, arch) != llvm.normalise(other, arch)
    assert llvm.normalise("s_waitcnt vmcnt(0)", arch) != llvm.normalise("s_waitcnt vmcnt(63) lgkmcnt(15)", arch)


WAITS = """
s_waitcnt vmcnt(3)
s_waitcnt lgkmcnt(0)
s_waitcnt 0
s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s0
s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3
s_getreg_b32 s0, hwreg(HW_REG_MODE)
s_nop 3
s_sleep 2
s_setprio 1
"""
NEW_WAITS = """
s_wait_loadcnt 3
s_wait_loadcnt_dscnt 0x1f05
s_wait_alu depctr_sa_sdst(0) depctr_vm_vsrc(2)
s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 4, 2), 3
s_barrier_signal -1
s_barrier_wait -1
"""
DELAYS = """
s_delay_alu instid0(VALU_DEP_1)
s_delay_alu instid0(TRANS32_DEP_2) | instskip(SKIP_2) | instid1(SALU_CYCLE_1)
s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
s_sendmsg_rtn_b32 s0, sendmsg(MSG_RTN_GET_REALTIME)
s_clause 3
"""


@pytest.mark.parametrize(
    ("arch", "source"),
    [("gfx90a", WAITS), ("gfx942", WAITS), ("gfx1100", WAITS + DELAYS), ("gfx1201", NEW_WAITS + DELAYS)],
)
def test_waits_delays_and_registers_read_as_llvm_22_reads_them(arch: str, source: str, tmp_path: Path) -> None:
    code = assembly.make_source(arch, source + "s_endpgm\n", wrapped=False)
    assert llvm.compare(llvm.assemble(code, arch, tmp_path), "22", tmp_path) > 5


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


def matrix_words(arch: str) -> list[bytes]:
    """Every matrix instruction of an arch with sources and results in VGPRs and AGPRs, one dword pair each."""
    rng, out = np.random.default_rng(1), []
    for (layout, opcode), row in read_table(arch).items():
        if layout != "VOP3P" or not row.mnemonic.startswith(("v_mfma", "v_smfmac")):
            continue
        for acc in range(8):
            vdst, *sources = (int(value) for value in 4 * rng.integers(0, 48, 4))
            low = 0b110100111 << 23 | opcode << 16 | (acc & 1) << 15 | vdst
            high = sum((value | 256) << 9 * k for k, value in enumerate(sources)) | (acc >> 1) << 27
            out.append(struct.pack("<II", low, high))
    return out


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_matrix_instructions_read_as_llvm_22_reads_them_wherever_their_registers_are(arch: str) -> None:
    words = matrix_words(arch)
    theirs = llvm.disassemble_words(words, arch, "22")
    assert len(words) == len(theirs) > 200
    ours = [decode_all(word, arch)[0].text() for word in words]
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if llvm.normalise(a, arch) != llvm.normalise(b, arch)]
    assert not pairs, pairs[:5]


def test_the_index_of_a_sparse_product_is_a_vgpr() -> None:
    word = struct.pack("<II", 0xD3E2910A, 0x14060902)
    text = "v_smfmac_f32_16x16x32_f16 a[10:13], v[2:3], a[4:7], v1 cbsz:1 abid:2"
    assert decode_all(word, "gfx942")[0].text() == text
