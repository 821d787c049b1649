"""What clang says is read, and what is missing is named."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from hipcompat.check import Diagnostic, Options, Toolchain, check_files, find_rocm, find_toolchain
from hipcompat.check.compile import make_command
from hipcompat.check.diagnostics import parse_diagnostics
from hipcompat.check.kernels import list_kernels
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
error: /x/k.cu:12:0: stack frame size (400016) exceeds limit (131056) in function '_Z1kPi'
error: <unknown>:0:0: local memory (80000) exceeds limit (65536) in function '_Z1kPf'
/x/helper.h:7:5: error: use of undeclared identifier 'foo'
/x/helper.h:7:5: error: use of undeclared identifier 'foo'
2 errors generated when compiling for gfx942.
"""


def test_errors_are_read_with_their_places() -> None:
    found = parse_diagnostics(PRINTED)
    assert [(error.path, error.line, error.column) for error in found] == [
        ("/x/helper.h", 7, 5), ("k.hip", 2, 36), ("/x/k.cu", 1, 10), ("", 0, 0), ("/x/k.cu", 12, 0), ("", 0, 0),
        ("/x/helper.h", 7, 5),
    ]  # fmt: skip
    assert found[0].included_from == ("/x/k.cu:3",)
    assert found[1] == Diagnostic(
        path="k.hip", line=2, column=36, message="invalid instruction", instruction="mov.u32 s54, %laneid;"
    )
    assert found[3].message == "unknown argument: '-foo'"
    assert found[4].message.startswith("stack frame size (400016) exceeds limit")
    assert found[5].message.startswith("local memory (80000) exceeds limit")


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


def _fake_clang(folder: Path, deed: str) -> Path:
    """A program that passes for a clang, and does `deed` with a file k.hip."""
    path = folder / "clang"
    path.write_text(f'#!/bin/sh\ncase "$*" in *k.hip*) {deed};; *--version*) echo clang version 22;; esac\n')
    path.chmod(0o755)
    (folder / "k.hip").touch()
    return path


def test_a_compiler_that_dies_is_an_outcome(tmp_path: Path) -> None:
    clang_path = _fake_clang(tmp_path, "echo 'out of memory' >&2; exit 9")
    (outcome,) = check_files([tmp_path / "k.hip"], ["gfx942"], _toolchain(clang_path), Options())
    assert (outcome.is_ok, outcome.errors[0].message) == (False, "clang ended with 9: out of memory")


def test_a_compiler_that_hangs_is_an_outcome(tmp_path: Path) -> None:
    clang_path = _fake_clang(tmp_path, "exec sleep 60")
    (outcome,) = check_files([tmp_path / "k.hip"], ["gfx942"], _toolchain(clang_path), Options(timeout_s=0.3))
    assert outcome.errors[0].message == "clang did not end within 0.3 s"


@pytest.mark.parametrize("deed", ["exit 0", "echo text > $(eval echo \\${$#})"])
def test_no_object_is_no_success(deed: str, tmp_path: Path) -> None:
    clang_path = _fake_clang(tmp_path, deed)
    (outcome,) = check_files([tmp_path / "k.hip"], ["gfx942"], _toolchain(clang_path), Options())
    assert not outcome.is_ok
    assert "made no object" in outcome.errors[0].message


def _make_case(pattern: str, said: str) -> str:
    return f'case "$*" in *--version*) echo clang version 19;; *{pattern}*) echo "{said}"; exit 1;; esac'


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 1", "is no clang: of --version it says: it ended with 1"),
        ("echo Python 3.11", "is no clang: of --version it says: Python 3.11"),
        (_make_case("-emit-obj", "unsupported HIP gpu architecture"), "makes no code for gfx942: unsupported HIP gpu "),
        (
            _make_case("-fsyntax-only*|*k.hip", "/r/hip.h:7:1: error: bad"),
            "HIP's headers below /rocm do not compile with .* for gfx942: /r/hip.h:7: bad",
        ),
    ],
)
def test_a_compiler_or_headers_that_do_nothing_are_blamed(script: str, message: str, tmp_path: Path) -> None:
    clang_path = _fake_clang(tmp_path, "")
    clang_path.write_text(f"#!/bin/sh\n{script}\n")
    with pytest.raises(ToolchainError, match=message):
        check_files([tmp_path / "k.hip"], ["gfx942"], _toolchain(clang_path), Options())


def test_a_file_that_no_system_runs_is_no_clang(tmp_path: Path) -> None:
    clang_path = tmp_path / "clang"
    clang_path.write_bytes(b"\0\1\2")
    clang_path.chmod(0o755)
    (tmp_path / "k.hip").touch()
    with pytest.raises(ToolchainError, match="is no clang: of --version it says: it cannot be run: Exec format error"):
        check_files([tmp_path / "k.hip"], ["gfx942"], _toolchain(clang_path), Options())


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


KERNELS = """\
#define global __attribute__((global))
#define shared __attribute__((shared))
#define asm_it(text) asm volatile(text)
global void plain(int *x) { *x = 1; }
namespace here { global void named(int *x) { *x = 2; } }
template <int N> global void made(int *x) { *x = N; }
template global void made<3>(int *);
template <int N> global void unmade(int *x) { *x = N; }
"""
FAULTS = """\
#define global __attribute__((global))
#define shared __attribute__((shared))
#define ptx(text) asm volatile(text)
template <int N> global void much(float *x, int i) {
  shared float tile[N];
  tile[i] = *x; __syncthreads(); *x = tile[i ^ 1];
}
template global void much<40000>(float *, int);

global void deep(int *x) {
  int own[100000];
  for (int i = 0; i < 100000; i++) own[i] = x[i];
  *x = own[*x];
}
global void lane(unsigned *x) {
  ptx("s_nop 0\\n"
      "mov.u32 %0, %%laneid;");
}
"""
BARE = ("-nogpuinc", "-nogpulib", "-D__syncthreads=__builtin_amdgcn_s_barrier")


def _clang_22(folder: Path) -> Toolchain:
    found = shutil.which("clang-22")
    if found is None:
        pytest.skip("clang-22 is not installed")
    return Toolchain(clang_path=Path(found), rocm_path=folder, hip_version="", device_libs_path=None)


def test_kernels_are_those_in_the_object(tmp_path: Path) -> None:
    path = tmp_path / "k.hip"
    path.write_text(KERNELS)
    (outcome,) = check_files([path], ["gfx942"], _clang_22(tmp_path), Options(extra=BARE))
    assert outcome.is_ok, outcome.errors
    assert outcome.kernels == ("_Z4madeILi3EEvPi", "_Z5plainPi", "_ZN4here5namedEPi")


def test_without_device_code_there_is_no_kernel(tmp_path: Path) -> None:
    path = tmp_path / "k.hip"
    path.write_text("#ifdef __CUDACC__\n__attribute__((global)) void k() {}\n#endif\nint host() { return 1; }\n")
    (outcome,) = check_files([path], ["gfx942"], _clang_22(tmp_path), Options(extra=BARE))
    assert (outcome.is_ok, outcome.kernels) == (True, ())


@pytest.mark.parametrize("place", [".", "..", "/"])
def test_faults_of_the_assembler_and_the_code_generator_keep_their_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """And their path, from wherever hipcompat is called."""
    monkeypatch.chdir(tmp_path / place)
    path = tmp_path / "k.hip"
    path.write_text(FAULTS)
    toolchain = _clang_22(tmp_path)
    (tmp_path / "include" / "hip").mkdir(parents=True)  # the headers that are probed when a file fails
    (tmp_path / "include" / "hip" / "hip_runtime.h").touch()
    (tmp_path / "share" / "hip").mkdir(parents=True)
    (tmp_path / "share" / "hip" / "version").write_text("HIP_VERSION_MAJOR=7\nHIP_VERSION_MINOR=2\n")
    (outcome,) = check_files([path], ["gfx942"], toolchain, Options(extra=BARE))
    found = {error.line: error.message.split(" (")[0] for error in outcome.errors}
    assert found == {4: "local memory", 10: "stack frame size", 17: "invalid instruction"}
    assert {error.path for error in outcome.errors} == {str(path)}


@pytest.mark.parametrize("content", [b"", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + b"\xff" * 80, b"\0asm" * 99])
def test_what_is_no_object_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="ELF file"):
        list_kernels(content)
