"""Accounts: what base-passwd, package scripts and the recipe ask for; shadow passwords where passwd is installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_debs import make_tree

from rockiln.assemble.accounts import (
    Accounts,
    add_system_groups,
    add_users,
    make_homes,
    read_accounts,
    write_accounts,
    write_shells,
)
from rockiln.assemble.tree import Tree
from rockiln.contents import Contents
from rockiln.errors import AssembleError
from rockiln.recipe_file import User

MASTERS: dict[str, str | bytes] = {
    "usr/share/base-passwd/passwd.master": b"root:*:0:0:root:/root:/bin/bash\nnobody:*:65534:65534::/:/bin/false\n",
    "usr/share/base-passwd/group.master": b"root:*:0:\nadm:*:4:\nstaff:*:50:\nnogroup:*:65534:\n",
    "etc/skel/.profile": b"profile",
}


def make_user(name: str, uid: int, gid: int, home: str) -> User:
    return User(name=name, uid=uid, gid=gid, home=home, shell="/bin/bash")  # noqa: S604 - a login shell, not shell=True


ADA = make_user("ada", 1000, 1000, "/home/ada")


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return make_tree(Contents(tmp_path), MASTERS)


def test_without_shadow_passwords_the_masters_are_copied(tree: Tree) -> None:
    written = write_accounts(tree, read_accounts(tree), has_shadow=False)
    assert written.read("etc/passwd") == MASTERS["usr/share/base-passwd/passwd.master"]
    assert written.read("etc/group") == MASTERS["usr/share/base-passwd/group.master"]
    assert "etc/shadow" not in written.entries


def test_shadow_passwords_move_out_of_passwd(tree: Tree) -> None:
    written = write_accounts(tree, read_accounts(tree), has_shadow=True)
    assert (written.read("etc/passwd") or b"").startswith(b"root:x:0:0:root:/root:/bin/bash\n")
    assert (written.read("etc/shadow") or b"").startswith(b"root:*:3652:0:99999:7:::\n")
    assert (written.read("etc/gshadow") or b"").startswith(b"root:*::\n")
    assert {(written.entries[p].mode, written.entries[p].gid) for p in ("etc/shadow", "etc/gshadow")} == {(0o640, 42)}


def test_user_gets_group_password_and_home(tree: Tree) -> None:
    accounts = add_users(read_accounts(tree), [ADA])
    written = make_homes(write_accounts(tree, accounts, has_shadow=True), [ADA])
    assert b"\nada:x:1000:1000::/home/ada:/bin/bash\n" in (written.read("etc/passwd") or b"")
    assert b"\nada:!:3652:" in (written.read("etc/shadow") or b"")
    assert b"\nada:x:1000:\n" in (written.read("etc/group") or b"")
    home, profile = written.entries["home/ada"], written.entries["home/ada/.profile"]
    assert (home.uid, home.gid, profile.uid, written.read("home/ada/.profile")) == (1000, 1000, 1000, b"profile")


def test_user_of_an_existing_group_makes_none(tree: Tree) -> None:
    accounts = add_users(read_accounts(tree), [make_user("bo", 1001, 50, "/")])
    assert accounts.groups == read_accounts(tree).groups
    assert make_homes(tree, [make_user("bo", 1001, 50, "/")]).entries == tree.entries


@pytest.mark.parametrize("user", [ADA, make_user("root", 7, 7, "/r")])
def test_taken_name_or_uid_is_named(tree: Tree, user: User) -> None:
    accounts = add_users(read_accounts(tree), [make_user("eve", 1000, 1, "/e")])
    with pytest.raises(AssembleError, match=rf"user {user.name} \({user.uid}\): the image has "):
        add_users(accounts, [user])


def test_system_groups_get_the_first_free_ids(tree: Tree) -> None:
    accounts = add_system_groups(read_accounts(tree), ["_ssh", "_abc", "_ssh", "adm"])
    assert accounts.group_ids == {"root": 0, "adm": 4, "staff": 50, "nogroup": 65534, "_abc": 100, "_ssh": 101}


def test_image_without_base_passwd_has_no_accounts(tmp_path: Path) -> None:
    tree = make_tree(Contents(tmp_path), {})
    assert read_accounts(tree) == Accounts(users=(), groups=())
    assert write_accounts(tree, read_accounts(tree), has_shadow=True).entries == {}


def test_shells_of_all_packages_are_listed_by_every_name(tmp_path: Path) -> None:
    tree = make_tree(Contents(tmp_path), {
        "bin": "-> usr/bin", "usr/bin/sh": b"", "usr/share/debianutils/shells": b"# valid login shells\n/bin/sh\n",
        "usr/share/debianutils/shells.d/bash": b"/bin/bash # the big one\n",
    })  # fmt: skip
    written = write_shells(tree)
    assert written.read("etc/shells") == b"# valid login shells\n/bin/sh\n/usr/bin/sh\n/bin/bash \n/usr/bin/bash \n"
    assert written.read("var/lib/shells.state") == b"/bin/sh\n/usr/bin/sh\n/bin/bash \n/usr/bin/bash \n"
