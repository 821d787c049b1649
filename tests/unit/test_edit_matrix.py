"""matrix.toml is changed by program, and a person's comments stay."""

from __future__ import annotations

from pathlib import Path

import pytest
from matrix_text import CPU_ID, CPU_ROW, GPU_ID, GPU_ROW, ROOT, TOP, add_candidate

from rockiln.edit_matrix import add, bump, write_matrix_text
from rockiln.errors import FileFaultsError, UsageError
from rockiln.matrix import Matrix, parse_matrix, read_matrix


@pytest.fixture
def matrix(tmp_path: Path) -> Matrix:
    (tmp_path / "matrix.toml").write_text(TOP + CPU_ROW + GPU_ROW, encoding="utf-8")
    return read_matrix(tmp_path / "matrix.toml")


def ids(text: str) -> list[str]:
    return [target.id for target in parse_matrix(text, Path("matrix.toml")).targets]


def test_added_row_is_appended_and_nothing_else_changes(matrix: Matrix) -> None:
    text = add(matrix, GPU_ID, {"archs": "gfx90a,gfx908", "flavour": "devel"})
    assert text.startswith(TOP + CPU_ROW + GPU_ROW)
    assert ids(text)[2] == "torch-2.8.0-rocm7.0.2-py3.12-ubuntu-24.04-gfx90a+gfx908-devel"


def test_empty_value_takes_a_key_out(matrix: Matrix) -> None:
    text = add(matrix, GPU_ID, {"archs": "", "rocm": "", "os": "debian-12"})
    assert ids(text)[2] == "torch-2.8.0-cpu-py3.12-debian-12"


def test_copy_without_a_change_is_a_double_id(matrix: Matrix) -> None:
    with pytest.raises(FileFaultsError, match=r"target\[2\]: the same id as target\[0\]"):
        add(matrix, CPU_ID, {})


def test_unknown_row_and_key_are_explained(matrix: Matrix) -> None:
    with pytest.raises(UsageError, match=f'did you mean "{CPU_ID}"'):
        add(matrix, CPU_ID[:-1], {})
    with pytest.raises(UsageError, match=r'a row has no key "pyton"; did you mean "python"\?'):
        add(matrix, CPU_ID, {"pyton": "3.12"})


def test_bump_renames_the_candidate_and_its_rows(matrix: Matrix) -> None:
    text = bump(matrix, "jax-0.6.2-cpu", ["jax==0.6.3", "jaxlib==0.6.3"], "named", "release notes")
    assert ids(text)[0] == "jax-0.6.3-cpu-py3.11-debian-12"
    assert '[candidates."jax-0.6.3-cpu"]' in text
    assert "0.6.2" not in text
    assert "# a comment that must survive" in text
    assert "a test" not in text


def test_bump_keeps_wheels_it_does_not_name(matrix: Matrix) -> None:
    text = bump(matrix, "jax-0.6.2-cpu", ["jaxlib==0.6.3"], "named", "release notes")
    wheels = parse_matrix(text, Path("matrix.toml")).targets[0].candidates[0].wheels
    assert [str(wheel) for wheel in wheels] == ["jax==0.6.2", "jaxlib==0.6.3"]


@pytest.mark.parametrize(
    ("candidate", "wheel", "message"),
    [
        ("jax-0.6.1-cpu", "jax==0.6.3", 'no candidate "jax-0.6.1-cpu"; did you mean "jax-0.6.2-cpu"'),
        ("jax-0.6.2-cpu", "jaxlob==0.6.3", 'has no wheel jaxlob; did you mean "jaxlib"'),
        ("jax-0.6.2-cpu", "jax>=0.6.3", "is not pinned"),
    ],
)
def test_bump_of_what_is_not_there_is_explained(matrix: Matrix, candidate: str, wheel: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        bump(matrix, candidate, [wheel], "named", "release notes")


def test_bump_onto_an_existing_candidate_is_refused(matrix: Matrix) -> None:
    matrix.path.write_text(TOP + add_candidate("jax-0.6.3-cpu", "0.6.3", "jax==0.6.3") + CPU_ROW, encoding="utf-8")
    with pytest.raises(UsageError, match="exists already"):
        bump(read_matrix(matrix.path), "jax-0.6.2-cpu", ["jax==0.6.3"], "named", "release notes")


def test_writing_leaves_no_partial_file(matrix: Matrix) -> None:
    write_matrix_text(matrix.path, TOP)
    assert matrix.path.read_text(encoding="utf-8") == TOP
    assert [path.name for path in matrix.path.parent.iterdir()] == ["matrix.toml"]


def test_our_own_matrix_survives_a_bump(tmp_path: Path) -> None:
    old = (ROOT / "matrix.toml").read_text(encoding="utf-8")
    (tmp_path / "matrix.toml").write_text(old, encoding="utf-8")
    text = bump(read_matrix(tmp_path / "matrix.toml"), "jax-0.6.2-cpu", ["jax==0.6.3", "jaxlib==0.6.3"], "proven", "x")
    changed = [line for line in text.splitlines() if line not in old.splitlines()]
    assert len(changed) == 5
    assert text.count("#") == old.count("#")
