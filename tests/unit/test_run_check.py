"""The runner of checks, as the image's Python runs it: exit codes, stacks on time-out, whose modules come first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rockiln import run_check


def run(folder: Path, text: str, dump_after_s: str = "30", timeout_s: float = 30) -> subprocess.CompletedProcess[str]:
    path = folder / "check_it.py"
    path.write_text(text)
    argv = [sys.executable, run_check.__file__, str(path), dump_after_s, str(folder / "shared")]
    return subprocess.run(argv, capture_output=True, text=True, timeout=timeout_s, cwd=folder, check=False)


def test_exit_code_of_the_check_comes_through(tmp_path: Path) -> None:
    assert run(tmp_path, "import sys; print('why'); sys.exit(77)").returncode == 77
    failed = run(tmp_path, "assert 1 == 2, 'numbers differ'")
    assert failed.returncode == 1
    assert failed.stderr.endswith("AssertionError: numbers differ\n")


def test_hanging_check_tells_where_it_hangs(tmp_path: Path) -> None:
    text = "import threading, time\nthreading.Thread(target=time.sleep, args=(3,)).start()\ndef wait_here():\n"
    hung = run(tmp_path, text + "    time.sleep(3)\nwait_here()\n", dump_after_s="0.5")
    assert "Timeout (0:00:00.500000)!" in hung.stderr
    assert "in wait_here" in hung.stderr
    assert hung.stderr.count("Thread 0x") == 2


def test_crash_tells_where(tmp_path: Path) -> None:
    crashed = run(tmp_path, "import os, signal\ndef fall():\n    os.kill(os.getpid(), signal.SIGSEGV)\nfall()\n")
    assert "Fatal Python error: Segmentation fault" in crashed.stderr
    assert "in fall" in crashed.stderr


def test_working_folder_shadows_as_it_would_for_a_user(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("SHADOW = True\n")
    assert run(tmp_path, "import json; assert json.SHADOW").returncode == 0


def test_shared_modules_are_found_last(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/colorsys.py").write_text("raise RuntimeError\n")
    (tmp_path / "shared/helpful.py").write_text("ANSWER = 42\n")
    assert run(tmp_path, "import colorsys, helpful; assert helpful.ANSWER == 42").returncode == 0
