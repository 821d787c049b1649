"""Files of a package as a tree of arrays: nothing is lost, however much is counted instead of named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rockiln.report.file_tree import FOLDER, SMALL, Node, build_tree, count_nodes, prune, size_of
from rockiln.sizes.inventory import FileSize
from rockiln.sizes.kinds import KINDS, find_kind


def make_files(sizes: dict[str, int]) -> Iterable[FileSize]:
    return [FileSize(path, size, "", "deb:a", "all", find_kind(path)) for path, size in sizes.items()]


def build(sizes: dict[str, int]) -> Node:
    return build_tree(make_files(sizes), {}, [])


def count_files(node: Any) -> int:
    if node[2] == FOLDER:
        return sum(map(count_files, node[3]))
    return int(node[0]) if node[2] == SMALL else 1


def leaf_paths(node: Any, above: str = "") -> Iterator[str]:
    path = f"{above}/{node[0]}".lstrip("/")
    if node[2] == FOLDER:
        for child in node[3]:
            yield from leaf_paths(child, path)
    else:
        yield path


def test_chain_of_folders_is_one_node() -> None:
    python = KINDS.index("python")
    assert build({"opt/venv/a.py": 3, "opt/venv/b.py": 5}) == [
        "/opt/venv", 8, FOLDER, [["b.py", 5, python], ["a.py", 3, python]],
    ]  # fmt: skip


def test_file_with_device_code_names_its_archs() -> None:
    files = make_files({"a.so": 10})
    tree: Any = build_tree(files, {"a.so": {"gfx942": 4, "gfx1100": 2}}, ["gfx1100", "gfx942"])
    assert tree[3] == [["a.so", 10, KINDS.index("library"), [[1, 4], [0, 2]]]]


def test_small_files_of_a_folder_are_counted() -> None:
    tree: Any = prune(build({"a": 100, "b": 2, "c/d": 1, "c/e": 1}), 10)
    assert tree[3] == [["a", 100, KINDS.index("data")], [3, 4, SMALL]]


def test_one_small_file_keeps_its_name() -> None:
    tree: Any = prune(build({"a": 100, "b": 2}), 10)
    assert [node[0] for node in tree[3]] == ["a", "b"]


NAMES = st.lists(st.sampled_from(["a", "b", "c", "<d>"]), min_size=1, max_size=4).map("/".join)
TREES = st.dictionaries(NAMES.map(lambda name: f"{name}.f"), st.integers(0, 5000), min_size=1, max_size=40)


@given(sizes=TREES, floors=st.lists(st.integers(0, 4000), max_size=3))
def test_bytes_and_files_stay_the_same(sizes: dict[str, int], floors: list[int]) -> None:
    tree = build(sizes)
    assert sorted(leaf_paths(tree)) == sorted(sizes)
    before = count_nodes(tree)
    for floor in sorted(floors):
        tree = prune(tree, floor)
    assert size_of(tree) == sum(sizes.values())
    assert count_files(tree) == len(sizes)
    assert count_nodes(tree) <= before


@pytest.mark.parametrize("order", [1, -1])
def test_order_of_files_does_not_matter(order: int) -> None:
    sizes = {"a/x": 5, "a/y": 5, "b": 5, "c": 9}
    assert build(dict(list(sizes.items())[::order])) == build(sizes)
