"""The diff: byte by byte in a file, which git applies; without control codes where it is printed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hipcompat.cli import main
from hipcompat.console import printable_lines

FILES = {
    "crlf.cu": b"int a;\r\nvoid f() { cudaDeviceSynchronize(); }\r\nint b;\r\n",
    "codes.cu": b"/* \x1b[31m \x0c \r \xe9 \xff */ void f() { cudaDeviceSynchronize(); }\nint b; \x0c\nint c;",
    "latin\udce9 \x1b[1m\"q\\.cu": b"void f() { cudaDeviceSynchronize(); }\n",
}  # fmt: skip


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize("program", ["git", "patch"])
def test_the_diff_in_a_file_is_applied_byte_by_byte(program: str, source: Path, tmp_path: Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    assert main(["translate", "source", "--diff", "p.patch"]) == 0
    assert {path.name: path.read_bytes() for path in source.iterdir()} == FILES
    command = ["git", "apply", "p.patch"] if program == "git" else ["patch", "--binary", "-p1", "-i", "p.patch"]
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path.parent), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    for name, content in FILES.items():
        changed = content.replace(b"cudaDeviceSynchronize", b"hipDeviceSynchronize")
        assert (source / name).read_bytes().endswith(changed)  # after a line that includes HIP's header
    assert main(["translate", "source", "--check"]) == 0
    assert not (tmp_path / "p.patch.part").exists()


def test_the_printed_diff_has_no_control_codes(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", str(source)]) == 0
    out, err = capsys.readouterr()
    assert printable_lines(out + err) == out + err
    assert "+/* \\u001b[31m \\f \\r " in out
    assert "hipDeviceSynchronize(); }\r\n" in out
    assert "\n# bytes are escaped in this diff: --diff FILE writes it as it is\n" in out
    assert out.endswith("3 of 3 files change, at 6 places\n")


def test_a_diff_that_needs_no_escapes_is_printed_as_it_is(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", str(source / "crlf.cu")]) == 0
    printed = capsys.readouterr().out
    assert "bytes are escaped" not in printed
    assert main(["translate", str(source / "crlf.cu"), "--diff", "p.patch"]) == 0
    assert printed == (tmp_path / "p.patch").read_bytes().decode() + "\n1 of 1 file changes, at 2 places\n"


def test_shim_mode_has_no_diff(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", str(source), "--mode", "shim", "--diff", "p.patch"]) == 2
    assert main(["translate", str(source), "--check", "--diff", "p.patch"]) == 2
    assert "exclude each other" in capsys.readouterr().err
