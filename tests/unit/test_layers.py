"""How a tree is cut into layers, and what a layer's key depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from imaging import Item, make_owner, make_rootfs

from rockiln.contents import Contents
from rockiln.layers import OWN_LAYER_BYTES, LayerPlan, split
from rockiln.rootfs import OwnerClass, Rootfs

BIG = OWN_LAYER_BYTES


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return Contents(tmp_path / "contents")


def grow(rootfs: Rootfs, sizes: Mapping[str, int]) -> Rootfs:
    """Pretend sizes: split() never reads contents."""
    entries = rootfs.entries
    grown = {path: entries[path]._replace(size_bytes=size) for path, size in sizes.items() if path in entries}
    return replace(rootfs, entries={**entries, **grown})


ITEMS: dict[str, Item] = {
    "usr/bin/ls": ("deb:coreutils", b"ls"),
    "usr/bin/sed": ("deb:sed", b"sed"),
    "usr/lib/libc.so": ("deb:libc6", b"libc"),
    "usr/lib/gconv": ("deb:libc-bin", b"gconv"),
    "usr/bin/python3": ("deb:python3", b"python"),
    "opt/venv/numpy": ("wheel:numpy", b"numpy"),
    "opt/venv/six": ("wheel:six", b"six"),
    "opt/venv/jax": ("wheel:jax", b"jax"),
    "etc/rockiln": ("rockiln", b"record"),
}
CLASSES: dict[str, OwnerClass] = {
    "deb:python3": "python", "wheel:numpy": "wheel", "wheel:six": "wheel", "wheel:jax": "framework",
    "wheel:torch": "framework",
}  # fmt: skip
SIZES = {"usr/lib/libc.so": BIG, "opt/venv/numpy": 3 * BIG, "opt/venv/jax": 2 * BIG}


def make_tree(contents: Contents, items: Mapping[str, Item] = ITEMS) -> Rootfs:
    rootfs = make_rootfs(contents, items, CLASSES)
    glibc = {name: make_owner(name, origin="glibc") for name in ("deb:libc6", "deb:libc-bin") if name in rootfs.owners}
    return grow(replace(rootfs, owners={**rootfs.owners, **glibc}), SIZES)


def titles(plans: tuple[LayerPlan, ...]) -> list[str]:
    return [plan.title for plan in plans]


def test_most_stable_comes_first_and_large_origins_lie_alone(contents: Contents) -> None:
    assert titles(split(make_tree(contents), 40)) == [
        "os: 2 packages",
        "os: glibc, 2 packages",
        "python: python3 1.0",
        "wheel: six 1.0",
        "wheel: numpy 1.0",
        "framework: jax 1.0",
        "image: what rockiln generates",
    ]


def test_every_path_is_in_exactly_one_layer_and_folders_in_each_that_needs_them(contents: Contents) -> None:
    tree = make_tree(contents)
    plans = split(tree, 40)
    files = [entry.path for plan in plans for entry in plan.entries if entry.kind != "directory"]
    assert sorted(files) == sorted(path for path, entry in tree.entries.items() if entry.kind != "directory")
    for plan in plans:
        paths = {entry.path for entry in plan.entries}
        assert all(path.rpartition("/")[0] in paths for path in paths if "/" in path)


def test_same_owners_give_the_same_layer_in_another_target(contents: Contents) -> None:
    other = {path: item for path, item in ITEMS.items() if item[0] != "wheel:jax"}
    other["opt/venv/torch"] = ("wheel:torch", b"torch")
    other["etc/rockiln"] = ("rockiln", b"another record")
    one, two = split(make_tree(contents), 40), split(make_tree(contents, other), 40)
    shared = {plan.key for plan in one} & {plan.key for plan in two}
    assert {plan.title for plan in one if plan.key in shared} == {
        "os: 2 packages", "os: glibc, 2 packages", "python: python3 1.0", "wheel: six 1.0", "wheel: numpy 1.0",
    }  # fmt: skip


def test_key_ignores_which_owner_a_shared_folder_is_counted_to(contents: Contents) -> None:
    tree = make_tree(contents)
    moved = {**tree.entries, "usr": tree.entries["usr"]._replace(owner="deb:libc6")}
    before, after = split(tree, 40), split(replace(tree, entries=moved), 40)
    assert [plan.key for plan in before] == [plan.key for plan in after]


@pytest.mark.parametrize(
    "change",
    [{"mode": 0o755}, {"uid": 5}, {"gid": 5}, {"sha256": "0" * 64}, {"size_bytes": 9}],
    ids=lambda change: next(iter(change)),
)
def test_one_changed_entry_changes_one_key(contents: Contents, change: dict[str, object]) -> None:
    tree = make_tree(contents)
    entries = {**tree.entries, "opt/venv/six": tree.entries["opt/venv/six"]._replace(**change)}
    before, after = split(tree, 40), split(replace(tree, entries=entries), 40)
    changed = [plan.title for plan, other in zip(before, after, strict=True) if plan.key != other.key]
    assert changed == ["wheel: six 1.0"]


def test_order_of_the_tree_does_not_matter(contents: Contents) -> None:
    tree = make_tree(contents)
    turned = replace(
        tree,
        entries=dict(reversed(tree.entries.items())),
        owners=dict(reversed(tree.owners.items())),
    )
    assert split(tree, 40) == split(turned, 40)


@pytest.mark.parametrize("budget", range(1, 8))
def test_budget_is_kept_and_nothing_is_lost(contents: Contents, budget: int) -> None:
    tree = make_tree(contents)
    plans = split(tree, budget)
    assert len(plans) == min(budget, 7)
    assert {owner for plan in plans for owner in plan.owners} == set(tree.owners)


def test_budget_joins_the_smallest_of_one_class_first(contents: Contents) -> None:
    assert titles(split(make_tree(contents), 6)) == [
        "os: 4 packages", "python: python3 1.0", "wheel: six 1.0", "wheel: numpy 1.0", "framework: jax 1.0",
        "image: what rockiln generates",
    ]  # fmt: skip


def test_more_layers_than_docker_mounts_are_never_made(contents: Contents) -> None:
    items: dict[str, Item] = {f"opt/{number:03}": (f"wheel:w{number:03}", bytes([number])) for number in range(200)}
    tree = grow(make_rootfs(contents, items), dict.fromkeys(items, BIG))
    assert len(split(tree, 500)) == 127


def test_hardlink_into_another_layer_becomes_a_file(contents: Contents) -> None:
    tree = make_rootfs(contents, {"usr/a": ("deb:a", b"data"), "opt/b": ("rockiln", "=> usr/a")})
    image = split(tree, 40)[-1]
    linked = next(entry for entry in image.entries if entry.path == "opt/b")
    assert (linked.kind, linked.size_bytes, linked.sha256) == ("file", 4, tree.entries["usr/a"].sha256)


def test_hardlink_within_a_layer_stays_and_comes_last(contents: Contents) -> None:
    tree = make_rootfs(contents, {"usr/z": ("deb:a", b"data"), "usr/a": ("deb:a", "=> usr/z")})
    assert [entry.path for entry in split(tree, 40)[0].entries] == ["usr", "usr/z", "usr/a"]


def test_owner_without_paths_makes_no_layer(contents: Contents) -> None:
    tree = make_rootfs(contents, {"usr/a": ("deb:a", b"a")})
    with_more = replace(tree, owners={**tree.owners, "deb:meta": make_owner("deb:meta", "rocm")})
    assert split(with_more, 40) == split(tree, 40)


def test_path_of_an_unknown_owner_belongs_to_the_image(contents: Contents) -> None:
    tree = make_rootfs(contents, {"usr/a": ("somebody", b"a")})
    assert split(replace(tree, owners={}), 40)[0].title == "image: what rockiln generates"
