"""Arguments of CUDAExtension: flags, sources and include folders; torch itself only as far as its interface goes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import hipcompat
from hipcompat.errors import FindingsError
from hipcompat.torch_extension import CUDAExtension, translate_extension
from hipcompat.translate import SHIM_PATH


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc" / "k.cu").write_text("#include <c10/cuda/CUDAStream.h>\nvoid f() { cudaDeviceSynchronize(); }\n")
    (tmp_path / "csrc" / "bind.cpp").write_text("int f();\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_sources_and_flags_are_translated(project: Path) -> None:
    sources, keywords, notes = translate_extension(
        ["csrc/k.cu", "csrc/bind.cpp"],
        {"extra_compile_args": {"cxx": ["-O3"], "nvcc": ["-O3", "--expt-relaxed-constexpr"]}, "include_dirs": ["inc"]},
    )
    assert sources == ("build/hipcompat/csrc/k.hip", "csrc/bind.cpp")
    text = (project / sources[0]).read_text()
    assert "hipDeviceSynchronize" in text
    assert "ATen/hip/impl/HIPStreamMasqueradingAsCUDA.h" in text
    assert keywords["extra_compile_args"]["cxx"] == ["-O3"]
    assert "-U__HIP_NO_HALF_OPERATORS__" in keywords["extra_compile_args"]["nvcc"]
    assert "--expt-relaxed-constexpr" not in keywords["extra_compile_args"]["nvcc"]
    assert keywords["include_dirs"] == ["inc", str(project / "csrc"), str(SHIM_PATH)]
    assert [note.given for note in notes] == ["--expt-relaxed-constexpr"]


@pytest.mark.usefixtures("project")
def test_flags_that_cannot_be_had_stop_the_build() -> None:
    with pytest.raises(FindingsError, match="-optix-ir"):
        translate_extension(["csrc/k.cu"], {"extra_compile_args": {"nvcc": ["-optix-ir"]}})


SETUP = """\
from setuptools import setup
from hipcompat.torch_extension import CUDAExtension
setup(name="k", ext_modules=[CUDAExtension("k", ["csrc/k.cu"], extra_compile_args={"nvcc": ["-optix-ir"]})])
"""


def _run_setup(folder: Path, text: str = SETUP, **more: str) -> subprocess.CompletedProcess[str]:
    (folder / "setup.py").write_text(text)
    (folder / "torch" / "utils").mkdir(parents=True, exist_ok=True)
    (folder / "torch" / "__init__.py").touch()
    (folder / "torch" / "version.py").write_text("hip = '7.0.2'\n")
    (folder / "torch" / "utils" / "__init__.py").touch()
    (folder / "torch" / "utils" / "cpp_extension.py").write_text("def CUDAExtension(*_, **__): raise AssertionError\n")
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{folder}:{Path(hipcompat.__file__).parents[1]}", **more}
    command = [sys.executable, "setup.py", "--name"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_build_that_cannot_be_had_ends_with_the_reason_first(project: Path) -> None:
    done = _run_setup(project)
    first, second = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (3, "")
    assert first.startswith("hipcompat: error: nvcc's flags ask for what ROCm has not: -optix-ir (")
    assert second.startswith("hint: ")


@pytest.mark.parametrize(
    ("before", "after", "code", "words"),
    [
        ("csrc/k.cu", "csrc/none.cu", 4, "csrc/none.cu is not there"),
        ("-optix-ir", "-gencode", 2, "-gencode: its value is missing"),
        ('["csrc/k.cu"]', '"csrc/folder.cu"', 4, "csrc/folder.cu cannot be translated: it is no file"),
    ],
)
def test_each_reason_has_its_own_exit_code(before: str, after: str, code: int, words: str, project: Path) -> None:
    (project / "csrc" / "folder.cu").mkdir()
    text = SETUP.replace(before, after)
    done = _run_setup(project, text if "optix" in before or "gencode" in after else text.replace("-optix-ir", "-O2"))
    assert done.returncode == code, done.stderr
    assert words in done.stderr.splitlines()[0]
    assert "Traceback" not in done.stderr


def test_a_traceback_is_shown_where_setuptools_is_asked_for_one(project: Path) -> None:
    done = _run_setup(project, DISTUTILS_DEBUG="1")
    assert done.stderr.startswith("Traceback")
    assert "FindingsError: nvcc's flags ask for what ROCm has not" in done.stderr


def test_without_torch_the_reason_says_what_pip_hides(project: Path, monkeypatch: pytest.MonkeyPatch,
                                                      capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SystemExit) as ended:
        CUDAExtension("k", [project / "csrc" / "k.cu"])
    assert ended.value.code == 7
    assert "hint: pip install --no-build-isolation" in capsys.readouterr().err


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(("hip", "source"), [("7.0.2", "build/hipcompat/csrc/k.hip"), (None, "csrc/k.cu")])
def test_only_a_torch_with_hip_is_helped(hip: str | None, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, list[str]]] = []

    def make_extension(name: str, sources: list[str], **_: Any) -> None:
        made.append((name, sources))

    version, cpp_extension = ModuleType("torch.version"), ModuleType("torch.utils.cpp_extension")
    version.hip = hip  # type: ignore[attr-defined]
    cpp_extension.CUDAExtension = make_extension  # type: ignore[attr-defined]
    for module in (ModuleType("torch"), ModuleType("torch.utils"), version, cpp_extension):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    CUDAExtension("k", ["csrc/k.cu"])
    assert made == [("k", [source])]
