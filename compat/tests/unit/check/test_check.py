"""What clang says is read, and what is missing is named."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hipcompat.check import Diagnostic, Options, Toolchain, check_files, find_rocm, find_toolchain
from hipcompat.check.compile import make_command
from hipcompat.check.diagnostics import parse_diagnostics
from hipcompat.check.toolchain import read_hip_version
from hipcompat.errors import FileError, ToolchainError

PRINTED = """\
In file included from /x/k.cu:3:
/x/helper.h:7:5: error: use of undeclared identifier 'foo'
    7 |     foo();
      |     ^
k.hip:2:36: error: invalid instruction
    2 | asm("mov.u32 %0, %%laneid;")
      |     ^
<inline asm>:1:2: note: instantiated into assembly here
    1 |         mov.u32 s54, %laneid;
      |         ^
/x/k.cu:1:10: fatal error: 'mma.h' file not found
/x/k.cu:9:1: warning: unused
clang++: error: unknown argument: '-foo'
2 errors generated when compiling for gfx942.
"""


def test_errors_are_read_with_their_places() -> None:
    found = parse_diagnostics(PRINTED)
    assert [(error.path, error.line, error.column) for error in found] == [
        ("/x/helper.h", 7, 5), ("k.hip", 2, 36), ("/x/k.cu", 1, 10), ("", 0, 0),
    ]  # fmt: skip
    assert found[0].included_from == ("/x/k.cu:3",)
    assert found[1] == Diagnostic(
        path="k.hip", line=2, column=36, message="invalid instruction", instruction="mov.u32 s54, %laneid;"
    )
    assert found[3].message == "unknown argument: '-foo'"


def _make_rocm(root: Path, major: int = 7) -> Path:
    header_path = root / "include" / "hip" / "hip_version.h"
    header_path.parent.mkdir(parents=True)
    numbers = {"MAJOR": major, "MINOR": 2, "PATCH": 9}
    header_path.write_text("".join(f"#define HIP_VERSION_{name} {number}\n" for name, number in numbers.items()))
    return root


def test_rocm_path_is_taken_from_the_environment(tmp_path: Path) -> None:
    root = _make_rocm(tmp_path)
    found = find_toolchain({"ROCM_PATH": str(root)}, clang_path=Path(sys.executable))
    assert (found.rocm_path, found.hip_version, found.device_libs_path) == (root, "7.2.9", None)
    assert "-nogpulib" in found.arguments("gfx942")


def test_device_libraries_are_found_where_debian_has_them(tmp_path: Path) -> None:
    folder = tmp_path / "lib" / "llvm-22" / "lib" / "clang" / "22" / "amdgcn" / "bitcode"
    folder.mkdir(parents=True)
    (folder / "ockl.bc").touch()
    found = find_toolchain({}, clang_path=Path(sys.executable), rocm_path=_make_rocm(tmp_path))
    assert f"--rocm-device-lib-path={folder}" in found.arguments("gfx942")


def test_an_old_hip_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="HIP 6 or newer"):
        find_toolchain({}, clang_path=Path(sys.executable), rocm_path=_make_rocm(tmp_path, major=5))
    assert read_hip_version(tmp_path / "nowhere") is None


def test_a_missing_clang_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="is no program"):
        find_toolchain({}, clang_path=tmp_path / "clang", rocm_path=_make_rocm(tmp_path))
    with pytest.raises(ToolchainError, match="no clang is in PATH"):
        find_toolchain({"PATH": str(tmp_path)}, rocm_path=tmp_path)


def _toolchain(clang_path: Path) -> Toolchain:
    return Toolchain(clang_path=clang_path, rocm_path=Path("/rocm"), hip_version="7.2.0", device_libs_path=None)


@pytest.mark.parametrize(("name", "shim", "has_shim"), [
    ("k.cu", None, True), ("k.hip", None, False), ("k.hip", True, True), ("k.cu", False, False),
])  # fmt: skip
def test_headers_go_over_cuda_files_only(name: str, shim: bool | None, *, has_shim: bool) -> None:
    command = make_command(Path(name), "gfx942", _toolchain(Path("clang")), Options(shim=shim))
    assert ("cuda_runtime.h" in command) == has_shim
    assert command[-1] == name


def test_a_compiler_that_dies_is_an_outcome(tmp_path: Path) -> None:
    clang_path, source_path = tmp_path / "clang", tmp_path / "k.hip"
    clang_path.write_text("#!/bin/sh\necho 'out of memory' >&2\nexit 9\n")
    clang_path.chmod(0o755)
    source_path.touch()
    (outcome,) = check_files([source_path], ["gfx942"], _toolchain(clang_path), Options())
    assert (outcome.is_ok, outcome.errors[0].message) == (False, "clang ended with 9: out of memory")


def test_a_compiler_that_hangs_is_an_outcome(tmp_path: Path) -> None:
    clang_path, source_path = tmp_path / "clang", tmp_path / "k.hip"
    clang_path.write_text("#!/bin/sh\nexec sleep 60\n")
    clang_path.chmod(0o755)
    source_path.touch()
    (outcome,) = check_files([source_path], ["gfx942"], _toolchain(clang_path), Options(timeout_s=0.3))
    assert outcome.errors[0].message == "clang did not end within 0.3 s"


def test_a_folder_is_no_source(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is no file"):
        check_files([tmp_path], ["gfx942"], _toolchain(Path("clang")), Options())


def test_a_folder_of_links_is_followed_to_where_clang_knows_hip(tmp_path: Path) -> None:
    """Images link /opt/rocm/include to Debian's; without share/hip/version clang leaves out its own HIP headers."""
    usr, links = tmp_path / "usr", tmp_path / "opt" / "rocm"
    (usr / "include" / "hip").mkdir(parents=True)
    (usr / "include" / "hip" / "hip_version.h").write_text("#define HIP_VERSION_MAJOR 7\n")
    links.mkdir(parents=True)
    (links / "include").symlink_to(usr / "include")
    assert find_rocm({"ROCM_PATH": str(links)}, None) == links
    (usr / "share" / "hip").mkdir(parents=True)
    (usr / "share" / "hip" / "version").write_text("HIP_VERSION_MAJOR=7\n")
    assert find_rocm({"ROCM_PATH": str(links)}, None) == usr
    (links / "share").symlink_to(usr / "share")
    assert find_rocm({"ROCM_PATH": str(links)}, None) == links
