"""Trees: where files go, what is written, and what the command says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hipcompat.cli import main
from hipcompat.errors import UsageError
from hipcompat.scan import Target
from hipcompat.translate.tree import translate_tree

KERNEL = b'#include "part.cu"\n__global__ void k(int *p) { p[0] = 1; }\nvoid f() { cudaDeviceSynchronize(); }\n'
PTX = b'__device__ int f() { int r; asm("mov.u32 %0, %%laneid;" : "=r"(r)); return r; }\n'


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "csrc"
    (folder / "sub").mkdir(parents=True)
    (folder / "k.cu").write_bytes(KERNEL)
    (folder / "part.cu").write_bytes(b"// nothing\n")
    (folder / "sub" / "h.cuh").write_bytes(b"#include <cuda_fp16.h>\r\n")
    (folder / "README.md").write_text("cudaMalloc\n")
    return folder


def test_a_tree_is_laid_out_elsewhere(source: Path, tmp_path: Path) -> None:
    output_path = tmp_path / "out"
    assert main(["translate", str(source), "-o", str(output_path)]) == 0
    assert {path.relative_to(output_path).as_posix() for path in output_path.rglob("*") if path.is_file()} == {
        "k.hip", "part.hip", "sub/h.cuh",
    }  # fmt: skip
    text = (output_path / "k.hip").read_text()
    assert '#include "part.hip"' in text
    assert "hipDeviceSynchronize" in text
    assert (output_path / "sub" / "h.cuh").read_bytes() == b"#include <hip/hip_fp16.h>\r\n"
    assert (source / "k.cu").read_bytes() == KERNEL


def test_what_was_written_is_no_input(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(source)
    for output in ("out", "./out", str(source / "out"), "sub/../out"):
        assert main(["translate", ".", "-o", output]) == 0
        written = {path.relative_to(source / "out").as_posix() for path in (source / "out").rglob("*.*")}
        assert written == {"k.hip", "part.hip", "sub/h.cuh"}
    assert main(["translate", "sub", "out", "-o", "out"]) == 2


def test_headers_that_were_written_are_no_input(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(source)
    (source / "ptx.cu").write_bytes(b"void f() { nvmlInit(); }")
    findings = []
    for _ in range(2):
        assert main(["translate", ".", "--mode", "shim", "-o", "include", "--json"]) == 3
        findings.append(json.loads(capsys.readouterr().out)["findings"])
    assert findings[0] == findings[1]
    assert [finding["path"] for finding in findings[0]] == ["ptx.cu"]


def test_check_says_what_its_exit_code_means(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["translate", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "write nothing; exit 3 where a file would change or an error is left, else 0" in said


def test_check_exits_3_for_an_error_that_is_left(source: Path) -> None:
    assert main(["translate", str(source), "--in-place"]) == 0
    assert main(["translate", str(source), "--check"]) == 0
    (source / "ptx.cu").write_bytes(PTX)
    assert main(["translate", str(source / "ptx.cu"), "--check"]) == 3


def test_the_source_is_no_place_for_the_result(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in source.rglob("*.*")}
    assert main(["translate", str(source), "-o", f"{source}/sub/.."]) == 2
    assert "is both what is read and where the result goes" in capsys.readouterr().err
    assert main(["translate", str(source / "sub" / "h.cuh"), "-o", str(source / "sub")]) == 2
    assert "h.cuh would be written over" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in source.rglob("*.*")} == before


def test_in_place_keeps_names_and_modes(source: Path) -> None:
    (source / "k.cu").chmod(0o640)
    assert main(["translate", str(source), "--in-place"]) == 0
    assert b'#include "part.cu"' in (source / "k.cu").read_bytes()
    assert (source / "k.cu").stat().st_mode & 0o777 == 0o640
    assert main(["translate", str(source), "--check"]) == 0


def test_check_writes_nothing_and_exits_3(source: Path) -> None:
    assert main(["translate", str(source), "--check"]) == 3
    assert (source / "k.cu").read_bytes() == KERNEL


def test_without_a_place_the_diff_is_the_answer(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", str(source)]) == 0
    out = capsys.readouterr().out
    assert "\n+void f() { hipDeviceSynchronize(); }" in out
    assert out.endswith("2 of 3 files change, at 3 places\n")


@pytest.mark.parametrize("mode", ["rename", "shim"])
def test_work_that_is_left_exits_3(mode: str, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (source / "ptx.cu").write_bytes(PTX)
    assert main(["translate", str(source), "--mode", mode]) == 3
    printed = capsys.readouterr()
    assert "error inline-ptx" in (printed.err if mode == "shim" else printed.out)


def test_shim_mode_prints_arguments_and_copies_headers(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", str(source), "--mode", "shim", "-o", str(tmp_path / "include")]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"-I{tmp_path / 'include'} ")
    assert (tmp_path / "include" / "cuda_runtime.h").is_file()
    assert main(["translate", str(source), "--mode", "shim", "--in-place"]) == 2


def test_two_places_at_once_are_refused(source: Path, tmp_path: Path) -> None:
    assert main(["translate", str(source), "--check", "-o", str(tmp_path)]) == 2


def test_two_files_for_one_place_are_refused(source: Path, tmp_path: Path) -> None:
    (source / "k.hip").write_bytes(b"")
    with pytest.raises(UsageError, match="would both become"):
        list(translate_tree([source], Target(), output_path=tmp_path / "out"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--guards"], "--guards is for headers over the source"),
        (["--rocm-path", "/x"], "--rocm-path is for headers over the source"),
        (["--mode", "shim", "--nvrtc"], "--nvrtc changes the source"),
        (["--mode", "shim", "--rocm-path", "/x"], "--rocm-path writes a copy"),
        (["--mode", "shim", "--guards"], "--guards writes copies"),
        (["--mode", "shim", "--diff", "d"], "shim mode leaves the source as it is"),
    ],
)
def test_what_a_mode_does_not_read_is_refused(
    words: list[str], told: str, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", str(source), *words]) == 2
    assert told in capsys.readouterr().err


def test_headers_that_are_not_there_leave_nothing_half_written(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    words = ["--mode", "shim", "-o", str(output), "--rocm-path", str(tmp_path / "none")]
    assert main(["translate", str(source), *words]) == 7
    assert not output.exists()


def test_a_link_in_place_stays_one(source: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.cu"
    link.symlink_to(source / "k.cu")
    assert main(["translate", str(link), "--in-place"]) == 0
    assert link.is_symlink()
    assert b"hipDeviceSynchronize" in (source / "k.cu").read_bytes()


def test_text_of_16_bits_is_said_to_be_left(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wide = source / "wide.cu"
    wide.write_bytes("void f() { cudaFree(p); }".encode("utf-16"))
    (source / "resource.h").write_bytes("#define ID 1\n".encode("utf-16"))
    for words in (["--check"], ["-o", str(tmp_path / "out")]):
        assert main(["translate", str(wide), *words]) == 3
        printed = capsys.readouterr()
        assert "wide.cu is left as it is: it is UTF-16 or UTF-32" in printed.out
        assert "1 file could not be translated" in printed.err
    assert main(["translate", str(source / "resource.h")]) == 0


def test_a_file_that_is_too_large_is_said_to_be_left(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hipcompat.translate.tree.LARGEST_BYTES", 50)
    assert main(["translate", str(source / "k.cu")]) == 4
    assert "k.cu is left as it is: it is larger than 0 MB" in capsys.readouterr().err
    assert main(["translate", str(source), "--json"]) == 3
    (left,) = json.loads(capsys.readouterr().out)["left"]
    assert left == {"path": str(source / "k.cu"), "reason": "it is larger than 0 MB; split it"}


def test_inserted_includes_end_as_the_file_does(source: Path) -> None:
    (source / "k.cu").write_bytes(b"__global__ void k() {}\r\n")
    assert main(["translate", str(source / "k.cu"), "--in-place"]) == 0
    assert (source / "k.cu").read_bytes() == b"#include <hip/hip_runtime.h>\r\n__global__ void k() {}\r\n"
