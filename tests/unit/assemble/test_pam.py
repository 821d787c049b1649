"""PAM's common files hold the default profiles by priority, with jumps that fit."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_debs import make_tree

from rockiln.assemble.pam import TYPES, write_pam
from rockiln.assemble.tree import Tree
from rockiln.contents import Contents
from rockiln.errors import AssembleError

TEMPLATE = """\
# head
# here are the per-package modules (the "Primary" block)
$auth_primary
# here's the fallback if no module succeeds
auth\trequisite\t\t\tpam_deny.so
# and here are more per-package modules (the "Additional" block)
$auth_additional
# end of pam-auth-update config
"""
UNIX = b"""\
Name: Unix authentication
Default: yes
Priority: 256
Auth-Type: Primary
Auth:
\t[success=end default=ignore]\tpam_unix.so nullok try_first_pass
Auth-Initial:
\t[success=end default=ignore]\tpam_unix.so nullok
Session-Type: Additional
Session:
\trequired\tpam_unix.so
"""
CARD = b"""\
Name: Smart card
Default: yes
Priority: 900
Auth-Type: Primary
Auth:
\t[success=end default=ignore]\tpam_card.so   try_first_pass
\t[success=1 default=ignore]\tpam_card_two.so
"""
OFF = b"Name: Off\nDefault: no\nPriority: 999\nAuth-Type: Primary\nAuth:\n\trequired\tpam_off.so\n"


def make_system(tmp_path: Path, **profiles: bytes) -> Tree:
    files: dict[str, str | bytes] = {f"usr/share/pam/common-{kind}": TEMPLATE.encode() for kind in TYPES}
    return make_tree(Contents(tmp_path), files | {f"usr/share/pam-configs/{n}": text for n, text in profiles.items()})


def read_lines(tree: Tree, kind: str) -> list[str]:
    lines = (tree.read(f"etc/pam.d/common-{kind}") or b"").decode().splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_single_profile_gives_its_initial_lines(tmp_path: Path) -> None:
    lines = read_lines(write_pam(make_system(tmp_path, unix=UNIX)), "auth")
    assert lines == ["auth\t[success=1 default=ignore]\tpam_unix.so nullok", "auth\trequisite\t\t\tpam_deny.so"]


def test_profiles_stand_by_priority_and_jump_over_the_rest(tmp_path: Path) -> None:
    assert read_lines(write_pam(make_system(tmp_path, unix=UNIX, card=CARD, off=OFF)), "auth")[:3] == [
        "auth\t[success=3 default=ignore]\tpam_card.so try_first_pass",
        "auth\t[success=1 default=ignore]\tpam_card_two.so ",
        "auth\t[success=1 default=ignore]\tpam_unix.so nullok try_first_pass",
    ]


def test_block_without_a_profile_permits(tmp_path: Path) -> None:
    tree = write_pam(make_system(tmp_path, unix=UNIX))
    assert read_lines(tree, "session-noninteractive")[0] == "session\t[default=1]\t\t\tpam_permit.so"
    assert "session\trequired\tpam_unix.so " in read_lines(tree, "session-noninteractive")
    assert (tree.read("var/lib/pam/session") or b"").startswith(b"Module: null\n[default=1]\t\t\tpam_permit.so\n")


def test_profiles_are_remembered_as_seen(tmp_path: Path) -> None:
    assert write_pam(make_system(tmp_path, unix=UNIX, off=OFF)).read("var/lib/pam/seen") == b"off\nunix\n"


def test_missing_template_is_named(tmp_path: Path) -> None:
    with pytest.raises(AssembleError, match="usr/share/pam/common-auth is missing"):
        write_pam(make_tree(Contents(tmp_path), {"usr/share/pam-configs/unix": UNIX}))
