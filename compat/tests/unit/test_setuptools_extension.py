"""CUDAExtension without torch: flags, archs, the commands that build; a real image builds one each night."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import hipcompat
from hipcompat.errors import UsageError
from hipcompat.setuptools_extension import CUDAExtension, read_archs

SETUP = """
from setuptools import setup
from hipcompat.setuptools_extension import BuildExtension, CUDAExtension
FLAGS = {"nvcc": ["-O3", "-lineinfo"], "cxx": ["-O1"]}
setup(name="k", version="1", cmdclass={"build_ext": BuildExtension}, ext_modules=[
    CUDAExtension("pack.k", ["csrc/k.cu", "csrc/bind.cpp"], extra_compile_args=FLAGS,
                  define_macros=[("A", None), ("B", "2")], include_dirs=["inc"], libraries=["hipblas"])])
"""
CLANG = """#!/bin/sh
echo "$@" >> "$LOG"
case "$*" in *fail.cu*) echo 'fail.cu:1:1: error: no' >&2; exit 1;; esac
while [ $# -gt 0 ]; do [ "$1" = -o ] && : > "$2"; shift; done
"""


def test_nvccs_flags_are_translated_and_what_was_dropped_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    extension = CUDAExtension("k", ["k.cu"], extra_compile_args={"nvcc": ["-O3", "--expt-relaxed-constexpr"]})
    assert extension.hip_arguments == ("-O3",)
    assert capsys.readouterr().err.startswith("hipcompat: --expt-relaxed-constexpr: dropped (")


def test_a_plain_list_of_flags_is_for_all_sources() -> None:
    extension = CUDAExtension("k", ["k.cu"], extra_compile_args=["-O3"])
    assert (extension.hip_arguments, extension.extra_compile_args) == (("-O3",), ["-O3"])


def test_no_gpu_is_guessed() -> None:
    assert read_archs({"HIPCOMPAT_ARCHS": "gfx942;gfx1100"}) == ("gfx942", "gfx1100")
    assert read_archs({"PYTORCH_ROCM_ARCH": "gfx90a gfx950", "HIPCOMPAT_ARCHS": ""}) == ("gfx90a", "gfx950")
    with pytest.raises(UsageError, match="which GPUs"):
        read_archs({})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A package with setup.py, a ROCm of headers and device libraries, a compiler that writes down what it is asked."""
    for name, text in {
        "setup.py": SETUP, "csrc/k.cu": "", "csrc/bind.cpp": "", "bin/clang-22": CLANG, "pack/__init__.py": "",
        "rocm/include/hip/hip_version.h": "#define HIP_VERSION_MAJOR 7\n", "rocm/amdgcn/bitcode/ockl.bc": "",
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "bin/clang-22").chmod(stat.S_IRWXU)
    return tmp_path


def _build(project: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    source = str(Path(hipcompat.__file__).parents[1])
    inherited = {"PATH": f"{project / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": source, "LOG": str(project / "log")}
    return subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--inplace"], cwd=project, capture_output=True, text=True,
        env={**inherited, "ROCM_PATH": str(project / "rocm"), **environment}, check=False, timeout=120,
    )  # fmt: skip


def test_kernels_go_to_clang_as_hip_under_our_headers_and_the_rest_as_c_plus_plus(project: Path) -> None:
    done = _build(project, HIPCOMPAT_ARCHS="gfx942;gfx1100")
    assert done.returncode == 0, done.stderr
    kernel, binding, link = (project / "log").read_text().splitlines()
    assert "-include cuda_runtime.h -x hip --offload-arch=gfx942 --offload-arch=gfx1100" in kernel
    assert f"--rocm-device-lib-path={project / 'rocm/amdgcn/bitcode'}" in kernel
    assert " -DA -DB=2 -Iinc -Icsrc " in kernel
    assert "-lineinfo" not in kernel
    assert "-x hip" not in binding
    assert " -O1 -c csrc/bind.cpp" in binding
    assert f"-L{project / 'rocm/lib'} -lhipblas -lamdhip64 -o" in link
    assert [path.name.partition(".")[0] for path in (project / "pack").glob("k*.so")] == ["k"]


@pytest.mark.parametrize(
    ("flag", "told"),
    [
        ("-optix-ir", "nvcc's flags ask for what ROCm has not: -optix-ir (OptiX is NVIDIA's)"),
        ("-rdc", "-rdc: its value is missing (nvcc documents -rdc with a value after it or after =)"),
    ],
)
def test_a_flag_that_cannot_be_had_stops_the_build_in_one_line(project: Path, flag: str, told: str) -> None:
    (project / "setup.py").write_text(SETUP.replace('"-lineinfo"', f'"{flag}"'))
    done = _build(project, HIPCOMPAT_ARCHS="gfx942")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"error: {told}"
    assert "Traceback" not in done.stderr
    assert not (project / "log").exists()


def test_what_is_missing_or_does_not_compile_is_said_in_one_line(project: Path) -> None:
    done = _build(project)
    assert done.stderr.splitlines()[-1] == 'error: for which GPUs? nothing says it (HIPCOMPAT_ARCHS="gfx942;gfx1100")'
    (project / "rocm/amdgcn/bitcode/ockl.bc").unlink()
    done = _build(project, HIPCOMPAT_ARCHS="gfx942")
    assert done.stderr.splitlines()[-1].startswith("error: no device libraries (ockl.bc)")
    (project / "rocm/amdgcn/bitcode/ockl.bc").write_text("")
    (project / "csrc/k.cu").rename(project / "csrc/fail.cu")
    (project / "setup.py").write_text(SETUP.replace("k.cu", "fail.cu"))
    done = _build(project, HIPCOMPAT_ARCHS="gfx942")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "error: clang-22 ended with 1 (hipcompat scan says what to do)"
    assert "Traceback" not in done.stderr
