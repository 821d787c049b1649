"""Small extensions, one feature each: translated both ways, compiled for four GPUs, executed in the emulator."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from golden.cases import CASES, Case
from hipcompat.check import Toolchain
from hipcompat.translate import SHIM_PATH, rename, shim_arguments

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
    if mode == "shim" and case.only_rename:
        pytest.skip("hipcompat's headers cannot tell that it spans whole wavefronts; scan warns")
    source_path = FOLDER / f"{name}.cu"
    if mode == "rename":
        source_path = tmp_path / f"{name}.hip"
        source_path.write_bytes(rename((FOLDER / f"{name}.cu").read_bytes(), Path("x.cu")).content)
    beside = (f"-I{SHIM_PATH}",) if b"<hipcompat/" in source_path.read_bytes() else ()
    shim = (*shim_arguments(), *case.shim_defines)
    code = _compile(source_path, arch, rocm, shim if mode == "shim" else beside, tmp_path)
    for order in case.orders if arch not in case.only_compiled else ():
        for got, want in zip(_launch(code, name, case, order), case.expected, strict=True):
            np.testing.assert_array_equal(got.ravel(), np.asarray(want).ravel())


@pytest.mark.parametrize("name", ["async_pipeline", "barrier_phases"])
def test_without_waiting_the_numbers_are_wrong(name: str, rocm: Toolchain, tmp_path: Path) -> None:
    """The emulator's race check knows no barrier of atomics and is off for these; so the orders must tell."""
    source = (FOLDER / f"{name}.cu").read_text()
    broken = source.replace("written.wait(std::move(token));", "").replace("pipe.consumer_wait();", "")
    assert broken != source
    source_path = tmp_path / f"{name}.cu"
    source_path.write_text(broken)
    case = CASES[name]()
    code = _compile(source_path, "gfx942", rocm, shim_arguments(), tmp_path)
    assert not all(_is_right(code, name, case, order) for order in case.orders)


def test_a_tile_across_wavefronts_that_does_not_wait_gives_wrong_numbers(rocm: Toolchain, tmp_path: Path) -> None:
    text = (SHIM_PATH / "hipcompat" / "block_tiles.h").read_text()
    broken = text.replace("while (static_cast<int>(arrived() - wanted) < 0)", "while (false)")
    assert broken != text
    (tmp_path / "hipcompat").mkdir()
    (tmp_path / "hipcompat" / "block_tiles.h").write_text(broken)
    source_path = FOLDER / "block_tiles.cu"
    code = _compile(source_path, "gfx942", rocm, (f"-I{tmp_path}", *shim_arguments()), tmp_path)
    case = CASES["block_tiles"]()
    assert not all(_is_right(code, "block_tiles", case, order) for order in case.orders)


def _is_right(code: bytes, name: str, case: Case, order: str | int) -> bool:
    try:
        results = _launch(code, name, case, order)
    except gfxemu.Fault:
        return False
    pairs = zip(results, case.expected, strict=True)
    return all(np.array_equal(got.ravel(), np.asarray(want).ravel()) for got, want in pairs)


def _compile(path: Path, arch: str, rocm: Toolchain, shim: tuple[str, ...], folder: Path) -> bytes:
    output_path = folder / "code.hsaco"
    command = [str(rocm.clang_path), *shim, *rocm.arguments(arch), "--no-gpu-bundle-output", "-O2", "-w", "-o"]
    done = subprocess.run([*command, str(output_path), str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    return output_path.read_bytes()


def _launch(code: bytes, name: str, case: Case, order: str | int) -> list[np.ndarray]:
    memory = gfxemu.Memory()
    at = tuple(memory.allocate(np.ascontiguousarray(array)) for array in (*case.inputs, *case.outputs))
    gfxemu.launch(
        gfxemu.load(code).kernels[name], grid=(case.grid, 1, 1), block=(case.block, 1, 1), memory=memory,
        kernarg=case.kernarg(at), shared_bytes=case.shared_bytes, order=order, races=not case.syncs_by_atomics,
    )  # fmt: skip
    places = zip(at[len(case.inputs) :], case.outputs, strict=True)
    return [np.frombuffer(memory.read(place, array.nbytes), array.dtype) for place, array in places]
