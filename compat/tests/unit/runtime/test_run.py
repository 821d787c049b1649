"""`hipcompat run`: a script as Python runs it, with the shims that were asked for and no others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import hipcompat


def _run(*argv: object, path: object = "") -> subprocess.CompletedProcess[str]:
    source = f"{Path(hipcompat.__file__).parents[1]}:{path}"
    return subprocess.run(
        [sys.executable, "-m", "hipcompat", "run", *map(str, argv)], capture_output=True, text=True, check=False,
        timeout=60, env={"PATH": os.environ["PATH"], "PYTHONPATH": source},
    )  # fmt: skip


def test_script_gets_the_shim_and_its_arguments(tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text("import sys, pynvml, beside\nprint(sys.argv[1:], pynvml.__version__, __name__)\nsys.exit(7)\n")
    (tmp_path / "beside.py").write_text("")
    (tmp_path / "amd").mkdir()
    (tmp_path / "amd" / "amdsmi.py").write_text("raise KeyError('the library is missing, and nobody asked yet')\n")
    done = _run("--pynvml", script, "--pynvml", "a b", path=tmp_path / "amd")
    assert done.returncode == 7
    assert done.stdout == "['--pynvml', 'a b'] hipcompat __main__\n"
    assert done.stderr.startswith("hipcompat: pynvml is answered by amdsmi in this process")


def test_script_without_amdsmi_hears_why_there_is_no_shim(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text("print('ran')\n")
    done = _run("--pynvml", tmp_path / "s.py")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert done.stderr == "hipcompat: pynvml: amdsmi is not installed: pynvml stays what it is\n"


def test_script_without_shims_hears_nothing(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text("print('ran')\n")
    done = _run(tmp_path / "s.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n", "")
    assert _run("-m", "this").stdout.startswith("The Zen of Python")


def test_scripts_own_exception_is_shown_as_python_does(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text("open('/no/such/file')\n")
    done = _run(tmp_path / "s.py")
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
    assert "FileNotFoundError" in done.stderr
    assert "runpy" not in done.stderr
    assert "hipcompat: error" not in done.stderr


def test_missing_script_exits_4() -> None:
    done = _run("/no/such.py")
    assert done.returncode == 4
    assert "is not there" in done.stderr
