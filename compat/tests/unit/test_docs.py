"""What the pages of hipcompat show is tried: command lines are parsed, names found, Python is run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import hipcompat
from hipcompat.cli import make_parser

ROOT = Path(__file__).parents[3]
PAGES = (*sorted((ROOT / "docs").glob("compat*.md")), ROOT / "compat" / "README.md")
_COMMAND = re.compile(r"^    (hipcompat [^#\n>]+)|\$\((hipcompat [^)\n]+)\)", re.MULTILINE)
_NAME = re.compile(r"\bhipcompat(?:\.[A-Za-z_]\w*)+(?!\w)")
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILES = ("hipcompat.cmake",)


def _find(pattern: re.Pattern[str]) -> list[str]:
    found = (match for page in PAGES for match in pattern.finditer(page.read_text(encoding="utf-8")))
    return sorted({next(filter(None, match.groups()), match[0]).strip() for match in found})


@pytest.mark.parametrize("command", _find(_COMMAND))
def test_command_lines_are_parsed(command: str) -> None:
    words = shlex.split(command)[1:]
    assert make_parser(words[0]).parse_args(words).verb == words[0]


@pytest.mark.parametrize("name", [name for name in _find(_NAME) if name not in _FILES])
def test_names_are_there_after_import_hipcompat_alone(name: str) -> None:
    code = f"import hipcompat\n{name}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=_environment(), check=False)
    if done.returncode:  # a module that is run or imported under its own name
        import_module(name)
        page = "".join(page.read_text(encoding="utf-8") for page in PAGES)
        assert re.search(rf"(?:-m|from|import) {re.escape(name)}\b", page), done.stderr


def _environment(**more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(hipcompat.__file__).parents[1]), **more}


def _find_block(words: str) -> str:
    page = (ROOT / "docs" / "compat-runtime.md").read_text(encoding="utf-8")
    return next(match[1] for match in _BLOCK.finditer(page) if words in match[1])


def _run(script: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(script)
    return subprocess.run(
        [sys.executable, "train.py"], cwd=folder, capture_output=True, text=True, env=_environment(**more), check=False
    )


def test_the_page_of_runtime_has_three_blocks() -> None:
    page = (ROOT / "docs" / "compat-runtime.md").read_text(encoding="utf-8")
    assert len(_BLOCK.findall(page)) == 3, "a new block needs its own test here"


def test_enable_is_run_as_it_is_shown(tmp_path: Path) -> None:
    before = "import sys\nhook = sys.excepthook\ntrain = list_recent_launches = lambda: ()\n"
    done = _run(before + _find_block("runtime.enable") + "assert sys.excepthook is hook\n", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "pynvml: not in place: amdsmi is not installed: pynvml stays what it is" in done.stdout


def test_helpers_give_what_is_shown(tmp_path: Path) -> None:
    block = _find_block("warp_size")
    shown = re.findall(r'^(hipcompat\.\S+) +# ("[^"]*"|[\d.]+)(?=;| and)', block, re.MULTILINE)
    assert len(shown) == 3
    done = _run(block + "".join(f"assert {call} == {value}\n" for call, value in shown), tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_a_kernels_fault_is_told_as_it_is_shown(tmp_path: Path) -> None:
    library, source = tmp_path / "libamdhip64.so.7", ROOT / "compat" / "tests" / "fake_hip" / "fake_hip.c"
    subprocess.run(["cc", "-std=c17", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    (tmp_path / "saxpy.hsaco").write_bytes(b"gfx942 code object")
    done = _run(_find_block("open_hip"), tmp_path, LD_LIBRARY_PATH=str(tmp_path))
    page = (ROOT / "docs" / "compat-runtime.md").read_text(encoding="utf-8")
    shown = re.search(r"^    KernelFaultError.*?\n\n", page, re.MULTILINE | re.DOTALL)
    assert shown
    wanted = re.sub("^    ", "", shown[0], flags=re.MULTILINE).strip()
    told = done.stderr.partition("hipcompat.runtime.hip.faults.")[2].strip()
    told = told.replace("some text", "an illegal memory access was encountered")  # the fake has one text for all
    assert re.sub("0x[0-9a-f]+", "0x", told) == re.sub("0x[0-9a-f]+", "0x", wanted)


def test_importing_hipcompat_imports_nothing_that_takes_time() -> None:
    code = "import sys; before = {*sys.modules}; import hipcompat; print(*sorted({*sys.modules} - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=_environment(), check=True)
    found = {name for name in done.stdout.split() if not name.startswith("importlib")}
    assert found - {"warnings"} == {"hipcompat"}  # warnings: what importlib brings
    assert {"facts", "doctor", "scan", "warp_size"} <= {*dir(hipcompat)}
