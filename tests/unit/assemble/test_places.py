"""Files, folders and links that package scripts make appear only where nothing is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from small_debs import EFFECT, make_tree

from rockiln.assemble.effects import Applied, Placed
from rockiln.assemble.places import give_to_groups, link_merged_usr, list_diversions, place
from rockiln.contents import Contents
from rockiln.errors import AssembleError


def applying(*places: Placed) -> list[Applied]:
    return [Applied(owner="deb:tiny", package="tiny", effect=replace(EFFECT, places=places))]


def test_file_is_copied_from_the_image(tmp_path: Path) -> None:
    tree = make_tree(Contents(tmp_path), {"usr/share/tiny/default": b"text"})
    copied = Placed(kind="file", path="etc/tiny", mode=0o640, gid=42, copy_of="usr/share/tiny/default")
    placed = place(tree, applying(copied))
    entry = placed.entries["etc/tiny"]
    assert (placed.read("etc/tiny"), entry.mode, entry.gid, entry.owner) == (b"text", 0o640, 42, "deb:tiny")


def test_copy_of_a_missing_file_names_it(tmp_path: Path) -> None:
    copied = Placed(kind="file", path="etc/tiny", mode=0o644, copy_of="usr/share/tiny/default")
    with pytest.raises(AssembleError, match=r"usr/share/tiny/default is missing, but deb:tiny makes etc/tiny of it"):
        place(make_tree(Contents(tmp_path), {}), applying(copied))


def test_existing_file_stays(tmp_path: Path) -> None:
    tree = make_tree(Contents(tmp_path), {"etc/tiny": b"mine"})
    placed = place(tree, applying(Placed(kind="file", path="etc/tiny", mode=0o644, text="new")))
    assert placed.read("etc/tiny") == b"mine"


def test_place_that_needs_another_path_waits_for_it(tmp_path: Path) -> None:
    placed = Placed(kind="file", path="usr/share/info/dir", mode=0o644, only_with="usr/share/info")
    empty, full = make_tree(Contents(tmp_path), {}), make_tree(Contents(tmp_path), {"usr/share/info": ""})
    assert "usr/share/info/dir" not in place(empty, applying(placed)).entries
    assert "usr/share/info/dir" in place(full, applying(placed)).entries


RUN = Placed(kind="symlink", path="var/run", mode=0o777, to="/run", replaces_folder=True)


def test_link_takes_the_place_of_an_empty_folder(tmp_path: Path) -> None:
    placed = place(make_tree(Contents(tmp_path), {"var/run": ""}), applying(RUN))
    assert placed.entries["var/run"].link == "/run"


def test_link_over_a_folder_that_is_used_names_its_user(tmp_path: Path) -> None:
    with pytest.raises(AssembleError, match=r"deb:tiny puts var/run/x below it"):
        place(make_tree(Contents(tmp_path), {"var/run/x": b""}), applying(RUN))


def test_merged_usr_links_only_what_is_there(tmp_path: Path) -> None:
    items = {"usr/bin/a": b"", "usr/lib64/b": b"", "lib64": "-> usr/lib64"}
    linked = link_merged_usr(make_tree(Contents(tmp_path), items))
    assert {path: entry.link for path, entry in linked.entries.items() if entry.link} == {
        "bin": "usr/bin", "lib64": "usr/lib64",
    }  # fmt: skip


def test_file_goes_to_the_group_of_its_package(tmp_path: Path) -> None:
    tree = make_tree(Contents(tmp_path), {"usr/bin/ssh-agent": b""})
    effect = replace(EFFECT, group_files=(("usr/bin/ssh-agent", 0o2755, "_ssh"), ("usr/bin/gone", 0o755, "_ssh")))
    given = give_to_groups(tree, [Applied(owner="deb:ssh", package="ssh", effect=effect)], {"_ssh": 101})
    assert (given.entries["usr/bin/ssh-agent"].mode, given.entries["usr/bin/ssh-agent"].gid) == (0o2755, 101)


def test_diversions_are_in_paths_of_the_image() -> None:
    effect = replace(EFFECT, diversions=(("/bin/sh", "/bin/sh.distrib"),))
    found = list_diversions([Applied(owner="deb:dash", package="dash", effect=effect)])
    assert [(one.path, one.to, one.owner) for one in found] == [("usr/bin/sh", "usr/bin/sh.distrib", "deb:dash")]
