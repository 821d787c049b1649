"""Shims: off until asked, announced once, gone afterwards; and `hipcompat run`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hipcompat
from hipcompat.runtime import install as shims


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(shims, "_announced", set())
    yield
    shims.uninstall()


def test_nothing_is_installed_unless_asked() -> None:
    before = sys.modules.get("pynvml")
    shims.install()
    assert shims.list_installed() == ()
    assert sys.modules.get("pynvml") is before


def test_installed_twice_is_once_and_announced_once(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        shims.install(pynvml=True)
        shims.install(pynvml=True)
        assert shims.list_installed() == ("pynvml",)
        assert vars(sys.modules["pynvml"])["__version__"] == "hipcompat"
        shims.uninstall()
    assert capsys.readouterr().err.count("pynvml is answered by amdsmi") == 1


@pytest.mark.parametrize("before", [None, "module"])
def test_uninstall_gives_back_what_was_there(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if before is None:
        monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    else:
        monkeypatch.setitem(sys.modules, "pynvml", os)
    shims.install(pynvml=True)
    shims.uninstall()
    assert sys.modules.get("pynvml") is (os if before else None)
    monkeypatch.undo()


def _run(*argv: object) -> subprocess.CompletedProcess[str]:
    source = str(Path(hipcompat.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-m", "hipcompat", "run", *map(str, argv)], capture_output=True, text=True, check=False,
        timeout=60, env={"PATH": os.environ["PATH"], "PYTHONPATH": source},
    )  # fmt: skip


def test_script_gets_the_shim_and_its_arguments(tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text("import sys, pynvml, beside\nprint(sys.argv[1:], pynvml.__version__, __name__)\nsys.exit(7)\n")
    (tmp_path / "beside.py").write_text("")
    done = _run("--pynvml", script, "--pynvml", "a b")
    assert done.returncode == 7
    assert done.stdout == "['--pynvml', 'a b'] hipcompat __main__\n"
    assert done.stderr.startswith("hipcompat: pynvml is answered by amdsmi in this process")


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
