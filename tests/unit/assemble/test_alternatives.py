"""Alternatives look as dpkg's own update-alternatives leaves them."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from small_debs import EFFECT, make_tree

from rockiln.assemble.alternatives import add_alternatives
from rockiln.assemble.effects import Alternative, Applied
from rockiln.assemble.tree import Tree
from rockiln.contents import Contents

MORE = Alternative(
    name="pager", link="/usr/bin/pager", path="/bin/more", priority=50,
    slaves=(("pager.1.gz", "/usr/share/man/man1/pager.1.gz", "/usr/share/man/man1/more.1.gz"),),
)  # fmt: skip
LESS = Alternative(
    name="pager", link="/usr/bin/pager", path="/usr/bin/less", priority=77,
    slaves=(
        ("pager.1.gz", "/usr/share/man/man1/pager.1.gz", "/usr/share/man/man1/less.1.gz"),
        ("lessecho", "/usr/bin/echo-pager", "/usr/bin/lessecho"),
    ),
)  # fmt: skip
FILES = (
    "usr/bin/more", "usr/bin/less", "usr/bin/lessecho", "usr/share/man/man1/more.1.gz", "usr/share/man/man1/less.1.gz",
)  # fmt: skip


def make_system(tmp_path: Path, files: tuple[str, ...] = FILES) -> Tree:
    return make_tree(Contents(tmp_path / "contents"), {"bin": "-> usr/bin", **dict.fromkeys(files, b"x")})


def offering(*offers: Alternative) -> list[Applied]:
    names = {MORE.path: "util-linux", LESS.path: "less"}
    return [
        Applied(owner=f"deb:{names[o.path]}", package=names[o.path], effect=replace(EFFECT, alternatives=(o,)))
        for o in offers
    ]


@pytest.mark.skipif(not shutil.which("update-alternatives"), reason="no update-alternatives here")
@pytest.mark.parametrize("offers", [(MORE,), (LESS,), (MORE, LESS), (LESS, MORE)])
@pytest.mark.parametrize("gone", ["", "usr/share/man/man1/less.1.gz", "usr/share/man/man1/more.1.gz"])
def test_same_as_update_alternatives(tmp_path: Path, offers: tuple[Alternative, ...], gone: str) -> None:
    files = tuple(file for file in FILES if file != gone)
    root = tmp_path / "root"
    for file in (*files, "etc/alternatives/README", "var/lib/dpkg/alternatives/README"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text("x")
    (root / "bin").symlink_to("usr/bin")
    for offer in offers:
        slaves = [word for name, link, path in offer.slaves for word in ("--slave", link, name, path)]
        install = ["--install", offer.link, offer.name, offer.path, str(offer.priority)]
        command = ["update-alternatives", "--quiet", "--log", "/dev/null", "--root", str(root), *install, *slaves]
        subprocess.run(command, check=True, capture_output=True)
    tree = add_alternatives(make_system(tmp_path, files), offering(*offers))
    links = {path.relative_to(root).as_posix(): str(path.readlink()) for path in root.rglob("*") if path.is_symlink()}
    assert {path: entry.link for path, entry in tree.entries.items() if entry.kind == "symlink"} == links
    assert tree.read("var/lib/dpkg/alternatives/pager") == (root / "var/lib/dpkg/alternatives/pager").read_bytes()


def test_choice_that_is_not_in_the_image_is_left_out(tmp_path: Path) -> None:
    tree = make_system(tmp_path, ("usr/bin/less",))
    assert add_alternatives(tree, offering(MORE)).entries == tree.entries
    assert add_alternatives(tree, offering(MORE, LESS)).entries["etc/alternatives/pager"].link == "/usr/bin/less"


def test_record_of_one_package_is_its_own_and_of_two_is_rockilns(tmp_path: Path) -> None:
    record = "var/lib/dpkg/alternatives/pager"
    assert add_alternatives(make_system(tmp_path), offering(LESS)).entries[record].owner == "deb:less"
    assert add_alternatives(make_system(tmp_path), offering(MORE, LESS)).entries[record].owner == "rockiln"
