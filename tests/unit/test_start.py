"""What a command loads before it answers: `plan`, and `build` with nothing to do, load no stage and no network."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {
    "asyncio", "debian", "deflate", "docker", "httpx", "importlib.metadata", "installer", "isal", "pypi_simple", "rich",
    "rockiln.fetch", "rockiln.pipeline", "rockiln.relock", "ssl", "tomlkit", "zstandard",
}  # fmt: skip
PROGRAM = """
import sys
from rockiln.cli import main
code = main(sys.argv[1:])
print("loaded", *sys.modules, file=sys.stderr)
sys.exit(code)
"""
START = """
import sys
import rockiln.build_key, rockiln.cli, rockiln.verbs.build
print("loaded", *sys.modules, file=sys.stderr)
"""


def list_heavy(program: str, *words: str) -> set[str]:
    argv = [sys.executable, "-c", program, *words]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return HEAVY & set(done.stderr.rpartition("loaded ")[2].split())


@pytest.mark.parametrize("words", [("plan",), ("plan", "--explore"), ("plan", "--json", "jax-*")])
def test_plan_loads_nothing_heavy(words: tuple[str, ...]) -> None:
    assert list_heavy(PROGRAM, *words) == set()


def test_finding_that_nothing_is_to_be_done_loads_no_stage() -> None:
    assert list_heavy(START) == set()


SLOW_MODULE = """
import sys, time
sys.stdout.write("loading\\n")
sys.stdout.flush()
time.sleep(60)
"""


@pytest.mark.parametrize("signal_name", ["SIGINT", "SIGTERM"])
def test_interrupt_while_modules_are_loaded_is_one_line(tmp_path: Path, signal_name: str) -> None:
    """The first seconds on a slow disk: a module that takes its time stands for them."""
    (tmp_path / "argparse.py").write_text(SLOW_MODULE)
    environ = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"}
    argv = [sys.executable, "-m", "rockiln", "plan"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "loading\n"
        process.send_signal(signal.Signals[signal_name])
        _, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (130, "rockiln: interrupted; nothing was begun\n")


def test_console_script_is_the_guarded_entry() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"rockiln": "rockiln.__main__:main"}
