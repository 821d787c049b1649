"""Whoever calls from Python names files as text or as Path, one alone or several; an empty path is a fault."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hipcompat.check import Options, check_files, find_toolchain
from hipcompat.doctor.host import Host
from hipcompat.errors import FileError, ToolchainError, UsageError
from hipcompat.flags import translate_flags
from hipcompat.paths import list_paths
from hipcompat.runtime.hip import open_hip
from hipcompat.scan import Target, scan
from hipcompat.scan.suppress import read_baseline, write_baseline
from hipcompat.setuptools_extension import CUDAExtension
from hipcompat.translate import rename, shim_arguments, translate_tree, write_overlay

GUARD = "#ifdef __CUDACC__\n#define D __device__\n#endif\n"
KERNEL = f"{GUARD}__global__ void k(int *p) {{ cudaFree(p); nvmlInit(); }}\n"
Form = Callable[[Path], Any]
ONE: tuple[Form, ...] = (str, Path)
MANY: tuple[Form, ...] = (
    *ONE, lambda path: {entry.name: entry for entry in os.scandir(path.parent)}[path.name],
    lambda path: [str(path)], lambda path: (path,), lambda path: iter([str(path)]),
)  # fmt: skip


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "csrc" / "k.cu"
    path.parent.mkdir()
    path.write_text(KERNEL)
    return path


@pytest.mark.parametrize("form", MANY)
def test_files_and_folders_are_read_in_every_form(form: Form, source: Path) -> None:
    assert "nvml" in {finding.rule for finding in scan(form(source), Target()).findings}
    assert scan(form(source.parent), Target()).scanned == 1
    assert [item.path for item in translate_tree(form(source), Target())] == [source]


@pytest.mark.parametrize("form", ONE)
def test_folders_are_written_and_left_out_in_every_form(form: Form, source: Path, tmp_path: Path) -> None:
    assert scan(tmp_path, Target(), left_out=form(source.parent)).scanned == 0
    files = list(translate_tree(source, Target(), output_path=form(tmp_path / "hip")))
    assert [file.output_path for file in files] == [tmp_path / "hip" / "k.hip"]
    assert rename(source.read_bytes(), form(source)).content == files[0].content != source.read_bytes()
    assert shim_arguments(form(tmp_path))[0] == f"-I{tmp_path}"
    folders = {"rocm_path": form(tmp_path), "include_paths": form(tmp_path)}
    laid = write_overlay(form(tmp_path / "o"), sources=form(source), **folders)
    assert laid == ("-ivfsoverlay", str(tmp_path / "o" / "overlay.json"))


@pytest.mark.parametrize("form", ONE)
def test_baselines_hosts_and_libraries_are_named_in_every_form(form: Form, source: Path, tmp_path: Path) -> None:
    findings = scan(source, Target()).findings
    write_baseline(findings, form(tmp_path / "known.json"))
    assert read_baseline(form(tmp_path / "known.json")) == Counter(item.fingerprint for item in findings)
    assert Host(root=form(tmp_path)).list("/csrc") == ("k.cu",)
    with pytest.raises(FileError, match="no HIP runtime"):
        open_hip(form(tmp_path / "libamdhip64.so"))
    extension = CUDAExtension("k", [form(source), "bind.cpp"], include_dirs=form(source.parent))
    assert (extension.sources, extension.include_dirs) == ([str(source), "bind.cpp"], [str(source.parent)])


@pytest.mark.parametrize("form", ONE)
def test_a_compiler_and_its_folders_are_named_in_every_form(form: Form, source: Path, tmp_path: Path) -> None:
    header = tmp_path / "rocm" / "include" / "hip" / "hip_version.h"
    header.parent.mkdir(parents=True)
    header.write_text("#define HIP_VERSION_MAJOR 7\n")
    toolchain = find_toolchain({}, clang_path=form(Path(sys.executable)), rocm_path=form(tmp_path / "rocm"))
    assert toolchain.rocm_path == tmp_path / "rocm"
    options = Options(include_paths=(form(source.parent),), guards=True)
    with pytest.raises(ToolchainError, match="is no clang"):
        check_files(form(source), "gfx942", toolchain, options)


def test_an_empty_path_is_not_the_working_directory() -> None:
    for call in (lambda: scan("", Target()), lambda: list_paths(["a", ""]), lambda: shim_arguments("")):
        with pytest.raises(UsageError, match="a path is empty"):
            call()
    with pytest.raises(TypeError):
        list_paths([3])  # type: ignore[list-item]


def test_architectures_are_text_or_several_and_known() -> None:
    assert Target(archs="gfx942,gfx1100").archs == Target(archs=("gfx942", "gfx1100")).archs == ("gfx942", "gfx1100")
    assert translate_flags([], archs="gfx942").arguments == ("--offload-arch=gfx942",)
    for call in (lambda: Target(archs=("sm_80",)), lambda: translate_flags([], archs="sm_80")):
        with pytest.raises(UsageError, match="'sm_80' is no AMD architecture"):
            call()
    with pytest.raises(UsageError, match=r"'7\.0\.2' is no version of ROCm"):
        Target(rocm="7.0.2")  # type: ignore[arg-type]
