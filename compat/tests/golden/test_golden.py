"""Small extensions, one feature each: translated both ways, compiled for four GPUs, executed in the emulator."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from golden.cases import CASES, Case
from hipcompat.check import Toolchain
from hipcompat.translate import rename, shim_arguments

gfxemu = pytest.importorskip("gfxemu")

ARCHS = ("gfx90a", "gfx942", "gfx950", "gfx1100")
FOLDER = Path(__file__).parent / "cuda"


def test_every_source_has_a_case() -> None:
    assert {path.stem for path in FOLDER.glob("*.cu")} == set(CASES)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("mode", ["shim", "rename"])
@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_of_cuda(name: str, mode: str, arch: str, rocm: Toolchain, tmp_path: Path) -> None:
    case = CASES[name]()
    if mode == "rename" and case.only_shim:
        pytest.skip("HIP has no such thing; hipcompat's headers do")
    source_path = FOLDER / f"{name}.cu"
    if mode == "rename":
        source_path = tmp_path / f"{name}.hip"
        source_path.write_bytes(rename((FOLDER / f"{name}.cu").read_bytes(), Path("x.cu")).content)
    code = _compile(source_path, arch, rocm, shim_arguments() if mode == "shim" else (), tmp_path)
    for got, want in zip(_launch(code, name, case), case.expected, strict=True):
        np.testing.assert_array_equal(got.ravel(), np.asarray(want).ravel())


def _compile(path: Path, arch: str, rocm: Toolchain, shim: tuple[str, ...], folder: Path) -> bytes:
    output_path = folder / "code.hsaco"
    command = [str(rocm.clang_path), *shim, *rocm.arguments(arch), "--no-gpu-bundle-output", "-O2", "-w", "-o"]
    done = subprocess.run([*command, str(output_path), str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    return output_path.read_bytes()


def _launch(code: bytes, name: str, case: Case) -> list[np.ndarray]:
    memory = gfxemu.Memory()
    at = tuple(memory.allocate(np.ascontiguousarray(array)) for array in (*case.inputs, *case.outputs))
    gfxemu.launch(
        gfxemu.load(code).kernels[name], grid=(case.grid, 1, 1), block=(case.block, 1, 1), memory=memory,
        kernarg=case.kernarg(at), shared_bytes=case.shared_bytes,
    )  # fmt: skip
    places = zip(at[len(case.inputs) :], case.outputs, strict=True)
    return [np.frombuffer(memory.read(place, array.nbytes), array.dtype) for place, array in places]
