"""A tree finds files as the kernel would, adds only where nothing is, and ends up with every folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_debs import make_tree

from rockiln.assemble.tree import Tree, complete, make_directory, make_file, make_symlink
from rockiln.contents import Contents
from rockiln.errors import AssembleError


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    items = {
        "bin": "-> usr/bin", "usr/bin/awk": "-> /etc/alternatives/awk", "etc/alternatives/awk": "-> /usr/bin/mawk",
        "usr/bin/mawk": b"mawk", "usr/lib/a": "-> ../bin/../bin/mawk", "usr/bin/hard": "=> usr/bin/mawk",
        "loop": "-> loop2", "loop2": "-> loop", "dangling": "-> nowhere/at/all",
    }  # fmt: skip
    return make_tree(Contents(tmp_path), items)


PATHS = ["bin/awk", "/usr/bin/awk", "usr/lib/a", "usr/bin/hard", "bin//./mawk", "usr/../bin/mawk"]


@pytest.mark.parametrize("path", PATHS)
def test_links_are_followed_as_the_kernel_does(tree: Tree, path: str) -> None:
    assert tree.read(path) == b"mawk"


def test_what_is_missing_is_none(tree: Tree) -> None:
    assert tree.find("dangling") is None
    assert tree.read("usr/bin") is None
    assert tree.resolve("dangling/x") == "nowhere/at/all/x"


def test_circle_of_links_is_named(tree: Tree) -> None:
    with pytest.raises(AssembleError, match=r"loop: its symlinks go in a circle"):
        tree.find("loop")


def test_required_file_that_is_missing_says_who_needs_it(tree: Tree) -> None:
    with pytest.raises(AssembleError, match=r"usr/share/x is missing, but pam needs it"):
        tree.require("usr/share/x", "pam needs it")


def test_adding_leaves_what_is_there(tree: Tree) -> None:
    added = tree.adding([
        make_file(tree.contents, "usr/bin/mawk", b"other", "rockiln"), make_symlink("new", "bin", "rockiln"),
    ])  # fmt: skip
    assert added.read("usr/bin/mawk") == b"mawk"
    assert added.entries["new"].link == "bin"
    assert "new" not in tree.entries


def test_missing_folders_belong_to_what_they_hold() -> None:
    entries = complete({"b/c/d": make_directory("b/c/d", "deb:x"), "a": make_directory("a", "deb:y")})
    assert list(entries) == ["a", "b", "b/c", "b/c/d"]
    assert {entries["b"].owner, entries["b/c"].owner} == {"deb:x"}
    assert entries["b"].mode == 0o755


def test_path_below_a_link_names_both_owners() -> None:
    entries = {"a": make_symlink("a", "/etc", "deb:x"), "a/b": make_directory("a/b", "deb:y")}
    with pytest.raises(AssembleError, match="deb:y puts a/b below a, which is a symlink of deb:x"):
        complete(entries)


def test_below_is_sorted_and_complete(tree: Tree) -> None:
    assert tree.below("usr/bin") == ("usr/bin/awk", "usr/bin/hard", "usr/bin/mawk")
