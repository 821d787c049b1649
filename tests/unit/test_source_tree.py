"""A source tree's hash knows files, names and executable bits, and nothing of clocks, caches or git."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rockiln.source_tree import hash_tree


def _make_tree(path: Path) -> Path:
    (path / "src" / "pkg").mkdir(parents=True)
    (path / "pyproject.toml").write_text('[project]\nname = "Rockiln_Demo"\n')
    (path / "src" / "pkg" / "__init__.py").write_text("X = 1\n")
    (path / "link").symlink_to("pyproject.toml")
    return path


def test_same_tree_elsewhere_has_the_same_hash(tmp_path: Path) -> None:
    one, two = _make_tree(tmp_path / "one"), _make_tree(tmp_path / "two")
    os.utime(two / "pyproject.toml", (1, 1))
    (two / "src" / "pkg" / "__init__.py").chmod(0o640)
    assert hash_tree(one) == hash_tree(two)


@pytest.mark.parametrize(
    "ignored",
    [".git/HEAD", "src/pkg/__pycache__/x.pyc", "dist/x.whl", ".venv/bin/python", ".hypothesis/tmp/x", ".nox/t/x"],
)
def test_caches_and_built_files_do_not_count(tmp_path: Path, ignored: str) -> None:
    tree = _make_tree(tmp_path / "tree")
    before = hash_tree(tree)
    (tree / ignored).parent.mkdir(parents=True)
    (tree / ignored).write_text("anything")
    assert hash_tree(tree) == before


def test_a_changed_byte_counts(tmp_path: Path) -> None:
    tree = _make_tree(tmp_path / "tree")
    before = hash_tree(tree)
    (tree / "src" / "pkg" / "__init__.py").write_text("X = 2\n")
    assert hash_tree(tree) != before


def test_a_program_differs_from_a_file(tmp_path: Path) -> None:
    tree = _make_tree(tmp_path / "tree")
    before = hash_tree(tree)
    (tree / "src" / "pkg" / "__init__.py").chmod(0o755)
    assert hash_tree(tree) != before


def test_content_cannot_pass_for_a_name(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for tree, name, text in ((one, "a", "b"), (two, "ab", "")):
        tree.mkdir()
        (tree / name).write_text(text)
    assert hash_tree(one) != hash_tree(two)


def test_a_folder_named_build_further_down_counts(tmp_path: Path) -> None:
    tree = _make_tree(tmp_path / "tree")
    before = hash_tree(tree)
    (tree / "src" / "build").mkdir()
    (tree / "src" / "build" / "x.py").write_text("")
    assert hash_tree(tree) != before
