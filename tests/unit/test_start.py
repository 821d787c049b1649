"""What a command loads before it answers: `plan`, and `build` with nothing to do, load no stage and no network."""

from __future__ import annotations

import subprocess
import sys
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
