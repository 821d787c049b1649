"""Whole builds: CMake with the toolchain file, and clang with the arguments that the torch helper makes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hipcompat.check import Options, Toolchain, check_files
from hipcompat.torch_extension import translate_extension
from hipcompat.translate import CMAKE_PATH, SHIM_PATH, rename, shim_arguments

FOLDER = Path(__file__).parent / "cuda"
PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(k LANGUAGES CXX)
add_library(k STATIC k.cu bind.cpp)
hipcompat_target(k NVCC_FLAGS -O2 {flags})
"""


def _configure(folder: Path, rocm: Toolchain, flags: str) -> subprocess.CompletedProcess[str]:
    cmake = shutil.which("cmake")
    if cmake is None:
        pytest.skip("no cmake (apt-get install cmake)")
    (folder / "CMakeLists.txt").write_text(PROJECT.format(flags=flags))
    (folder / "k.cu").write_bytes((FOLDER / "device_pass.cu").read_bytes())
    (folder / "bind.cpp").write_text("int f() { return 1; }\n")
    command = [cmake, "-S", str(folder), "-B", str(folder / "build"), f"-DCMAKE_TOOLCHAIN_FILE={CMAKE_PATH}",
               "-DHIPCOMPAT_ARCHS=gfx942;gfx1100", f"-DHIPCOMPAT_ROCM={rocm.rocm_path}",
               f"-DHIPCOMPAT_PYTHON={sys.executable}"]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_cmake_builds_host_and_device_code(rocm: Toolchain, tmp_path: Path) -> None:
    configured = _configure(tmp_path, rocm, "--expt-relaxed-constexpr")
    assert configured.returncode == 0, configured.stderr
    assert "--expt-relaxed-constexpr: dropped" in configured.stdout
    built = subprocess.run(["cmake", "--build", str(tmp_path / "build")], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    content = (tmp_path / "build" / "libk.a").read_bytes()
    assert all(f"amdgcn-amd-amdhsa--{arch}".encode() in content for arch in ("gfx942", "gfx1100"))


def test_cmake_stops_at_a_flag_that_cannot_be_had(rocm: Toolchain, tmp_path: Path) -> None:
    configured = _configure(tmp_path, rocm, "-optix-ir")
    assert configured.returncode != 0
    assert "cannot be had on ROCm" in configured.stderr


def test_cmake_says_what_is_wrong_with_a_flag_or_with_python(rocm: Toolchain, tmp_path: Path) -> None:
    configured = _configure(tmp_path, rocm, "-Xcompiler")
    assert configured.returncode != 0
    assert "-Xcompiler: its value is missing" in configured.stderr
    assert "cannot be had" not in configured.stderr


def test_the_torch_helpers_arguments_compile(
    rocm: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(FOLDER / "half_math.cu", tmp_path / "k.cu")
    monkeypatch.chdir(tmp_path)
    sources, keywords, _ = translate_extension(
        ["k.cu"], {"extra_compile_args": {"nvcc": ["-O3", "-gencode", "arch=compute_90,code=sm_90", "--use_fast_math"]}}
    )
    options = Options(
        include_paths=tuple(map(Path, keywords["include_dirs"])), extra=tuple(keywords["extra_compile_args"]["nvcc"])
    )
    outcomes = check_files([Path(source) for source in sources], ["gfx942"], rocm, options)
    assert [outcome.errors for outcome in outcomes] == [()]


@pytest.mark.parametrize("side", ["host", "device"])
@pytest.mark.parametrize("path", sorted((FOLDER.parent / "declared").glob("*.cu")), ids=lambda path: path.stem)
def test_declarations_are_those_of_cuda(path: Path, side: str, rocm: Toolchain) -> None:
    argv = [word for word in rocm.arguments("gfx942") if word != "--offload-device-only"]
    command = [str(rocm.clang_path), *shim_arguments(), *argv, "-std=c++17", "-w", f"--offload-{side}-only"]
    done = subprocess.run([*command, "-fsyntax-only", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]


@pytest.mark.parametrize("name", ["runtime_overloads", "nvcc_brings", "named_rounding"])
def test_renamed_calls_have_hips_signatures(name: str, rocm: Toolchain, tmp_path: Path) -> None:
    path = tmp_path / "k.hip"
    path.write_bytes(rename((FOLDER.parent / "declared" / f"{name}.cu").read_bytes(), Path("k.cu")).content)
    argv = [word for word in rocm.arguments("gfx942") if word != "--offload-device-only"]
    own = ("-I", str(SHIM_PATH))  # for hipcompat/overloads.h, as translate says
    command = [str(rocm.clang_path), *argv, *own, "-std=c++17", "-w", "--offload-host-only", "-fsyntax-only", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
