"""nox reads the matrix: one image(TARGET) a row, one plugins(...) a cell; a new row changes no other file."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rockiln.compatibility import read_compatibility
from rockiln.edit_matrix import add, write_matrix_text
from rockiln.matrix import read_matrix
from rockiln.plan import make_plan, plugin_cells
from rockiln.recipe import read_recipes

ROOT = Path(__file__).parents[2]
CPU_ROW = "jax-0.6.2-cpu-py3.11-debian-12"


@pytest.fixture
def project_path(tmp_path: Path) -> Path:
    """A copy of what nox reads."""
    for name in ("noxfile.py", "pyproject.toml", "matrix.toml"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    for name in ("images", "src"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def list_sessions(project_path: Path) -> set[str]:
    """Names of the sessions that `nox --list` prints."""
    argv = [sys.executable, "-m", "nox", "--noxfile", str(project_path / "noxfile.py"), "--list"]
    listed = subprocess.run(argv, check=True, capture_output=True, text=True, cwd=project_path).stdout
    return {name.strip() for name in re.findall(r"^[-*] (.*?)(?: -> .*)?$", listed, re.MULTILINE)}


def test_sessions_are_the_rows_and_the_cells(project_path: Path) -> None:
    matrix = read_matrix(project_path / "matrix.toml")
    plan = make_plan(matrix, read_recipes(project_path / "images"), read_compatibility())
    sessions = list_sessions(project_path)
    images = {name for name in sessions if name.startswith("image(")}
    assert images == {f"image({planned.id})" for planned in plan.targets}
    cells = {name for name in sessions if name.startswith("plugins(")}
    assert cells == {f"plugins({framework}, {version})" for framework, version in plugin_cells(plan)}


def test_a_new_row_is_a_new_session_and_changes_no_other_file(project_path: Path) -> None:
    before = list_sessions(project_path)
    matrix = read_matrix(project_path / "matrix.toml")
    write_matrix_text(matrix.path, add(matrix, CPU_ROW, {"flavour": "devel"}))
    assert list_sessions(project_path) - before == {f"image({CPU_ROW}-devel)"}
