"""librockiln asks Debian's real HIP runtime and the fake one of its tests the same things: the answers agree.

There is no GPU, and both say so. The runtime comes from suites that move: nightly.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hip_runtime import LIBRARIES, unpack_hip
from real_debs import ROOT

pytestmark = [
    pytest.mark.network,
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("ROCKILN_NIGHTLY"), reason="moving suites: ROCKILN_NIGHTLY=1 runs it"),
]
KERNELS = ROOT / "plugins" / "rockiln-kernels"
MAKE_PACK = """
import sys
from pathlib import Path
from rockiln_kernels.pack.index import dump_index
from rockiln_kernels.pack.manifest import KernelEntry, Manifest
entry = KernelEntry(
    source="rms_norm", symbol="rms_norm", file="rms_norm.hsaco", sha256="0" * 64, size_bytes=1, threads=256,
    shared_bytes=0, kernarg_bytes=0, args=(), constants={}, warps=4, stages=1, vgprs=8, agprs=0, sgprs=8,
    vgpr_spills=0, sgpr_spills=0, scratch_bytes=0, occupancy=8, matrix_instructions={},
)
manifest = Manifest(
    schema=1, arch="gfx942", wave_lanes=64, triton="3.4.0", lld="22", kernels={"rms_norm": entry}, variants=(),
    absent=(),
)
Path(sys.argv[1], "index.bin").write_bytes(dump_index(manifest))
"""


def _compile(output: Path, *words: str | Path) -> Path:
    flags = ("-std=c++17", "-O1", "-fPIC", "-Wall", "-Wextra", "-Werror", "-static-libstdc++", "-static-libgcc")
    subprocess.run(["g++", *flags, *map(str, words), "-o", str(output), "-ldl", "-pthread"], check=True)
    return output


def _ask(command: list[str]) -> dict[str, tuple[int, str]]:
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    rows = [line.split("\t") for line in printed.splitlines()]
    return {question: (int(status), message) for question, status, message in rows}


def test_the_real_runtime_and_the_fake_answer_alike_without_a_gpu(tmp_path: Path) -> None:
    tests = KERNELS / "tests" / "fake_hip"
    program = _compile(tmp_path / "contract", tests / "contract.cc", *sorted(KERNELS.glob("launcher/src/*.cc")))
    fake = _compile(tmp_path / "libfake.so", "-shared", tests / "fake_hip.cc")
    environment = {**os.environ, "PYTHONPATH": str(KERNELS / "src")}
    subprocess.run([sys.executable, "-c", MAKE_PACK, str(tmp_path)], check=True, env=environment)
    tree = unpack_hip(tmp_path / "tree", ROOT / "build" / "hip-runtime").path
    libraries = tree / LIBRARIES
    loader = [str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries)]
    expected = _ask([str(program), str(fake), str(tmp_path), "rms_norm"])
    real = _ask([*loader, str(program), "libamdhip64.so.7", str(tmp_path), "rms_norm"])
    assert {name: status for name, (status, _) in real.items()} == {name: code for name, (code, _) in expected.items()}
    assert real["open_pack"] == (0, "")
    assert real["count_devices"][0] == real["launch"][0] == 2
    assert "no ROCm-capable device is detected (hipErrorNoDevice, 100)" in real["launch"][1]
    assert real["launch"][1].startswith("rms_norm (rms_norm, gfx942) [x=bf16[4,1024]]: ")
