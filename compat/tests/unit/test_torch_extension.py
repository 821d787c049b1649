"""Arguments of CUDAExtension: flags, sources and include folders; torch itself only as far as its interface goes."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

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
