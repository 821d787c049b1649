"""The program that compiles inside the image: unchecked-hash .pyc files whose bytes depend on nothing else."""

from __future__ import annotations

import importlib.util
import marshal
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rockiln.assemble import compile_modules

SOURCE = b'"""Doc."""\nNAMES = {"a", "b", "c"}\n\n\ndef f(x):\n    return x in {"linux", "android"} or (1, 2.5, b"x")\n'


def test_pyc_is_never_compared_with_its_source() -> None:
    pyc = compile_modules.compile_source(SOURCE, "/opt/tiny.py")
    assert pyc[:4] == importlib.util.MAGIC_NUMBER
    assert pyc[4:8] == (1).to_bytes(4, "little")
    assert pyc[8:16] == importlib.util.source_hash(SOURCE)
    assert marshal.loads(pyc[16:]).co_filename == "/opt/tiny.py"  # noqa: S302 - made one line above


@pytest.mark.parametrize("source", [b"print 'python 2'\n", b"x = {{ template }} y\n", b"\x00", b"\xff\xfe"])
def test_source_that_does_not_compile_gives_nothing(source: bytes) -> None:
    assert compile_modules.compile_source(source, "/x.py") == b""


def compile_in(folder: Path, jobs: int, environ: dict[str, str]) -> dict[str, bytes]:
    folder.mkdir()
    (folder / "tiny.py").write_bytes(SOURCE)
    (folder / "bad.py").write_bytes(b"print 1\n")
    for index in range(3):
        lines = [f"{folder}/{name}.py\t/opt/{index}/{name}.py\n" for name in ("tiny", "bad")]
        (folder / f"{index}.todo").write_text("".join(lines))
    command = [sys.executable, "-I", "-S", "-B", compile_modules.__file__, str(folder), str(jobs)]
    subprocess.run(command, check=True, env={**os.environ, **environ})
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.out"))}


def test_bytes_do_not_depend_on_jobs_hash_seed_or_folder(tmp_path: Path) -> None:
    first = compile_in(tmp_path / "first", 1, {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C"})
    second = compile_in(tmp_path / "elsewhere", 3, {"PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"})
    assert first == second
    assert sorted(first) == ["0.out", "1.out", "2.out"]


def test_list_answers_line_by_line(tmp_path: Path) -> None:
    out = compile_in(tmp_path / "x", 1, {})["1.out"]
    size_bytes = int.from_bytes(out[:8], "little")
    assert out[8 : 8 + size_bytes] == compile_modules.compile_source(SOURCE, "/opt/1/tiny.py")
    assert out[8 + size_bytes :] == bytes(8)


def test_failed_interpreter_is_counted(tmp_path: Path) -> None:
    (tmp_path / "0.todo").write_text("/no/such/source\t/x.py\n")
    command = [sys.executable, "-I", "-S", "-B", compile_modules.__file__, str(tmp_path), "1"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "/no/such/source" in done.stderr


def test_unfinished_answer_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_bytes(SOURCE)
    (tmp_path / "0.todo").write_text(f"{tmp_path}/x.py\t/x.py\n/no/such/source\t/y.py\n")
    with pytest.raises(FileNotFoundError):
        compile_modules.compile_list(str(tmp_path / "0.todo"))
    assert not (tmp_path / "0.out").exists()
