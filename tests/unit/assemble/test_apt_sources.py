"""The image's apt sources are what its own apt shows as an example, main only; never a mirror of the build."""

from __future__ import annotations

from pathlib import Path

from small_debs import make_tree

from rockiln.assemble.apt_sources import write_apt_sources
from rockiln.contents import Contents

LIST = b"""\
# See sources.list(5)
deb http://archive.example/debian bookworm main contrib
deb http://archive.example/debian-security bookworm-security main contrib

#deb-src http://archive.example/debian bookworm main
"""
STANZAS = b"""\
## A comment
Types: deb
URIs: http://archive.example/debian
Suites: trixie trixie-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

## Another
Types: deb
URIs: http://archive.example/debian-security
Suites: trixie-security
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""


def test_list_keeps_the_suites_and_main(tmp_path: Path) -> None:
    tree = make_tree(Contents(tmp_path), {"usr/share/doc/apt/examples/sources.list": LIST})
    written = write_apt_sources(tree, "debian-12", ())
    assert written.read("etc/apt/sources.list") == (
        b"deb http://archive.example/debian bookworm main\n"
        b"deb http://archive.example/debian-security bookworm-security main\n"
    )
    assert written.entries["etc/apt/sources.list"].owner == "deb:apt"


def test_stanzas_of_a_release_stay_as_they_are(tmp_path: Path) -> None:
    tree = make_tree(Contents(tmp_path), {"usr/share/doc/apt/examples/debian.sources": STANZAS})
    text = write_apt_sources(tree, "debian-13", ()).read("etc/apt/sources.list.d/debian.sources") or b""
    assert b"Suites: trixie trixie-updates\nComponents: main\n" in text
    assert b"Suites: trixie-security\n" in text
    assert b"#" not in text


def test_sid_has_one_stanza_of_its_own_suites(tmp_path: Path) -> None:
    tree = make_tree(Contents(tmp_path), {"usr/share/doc/apt/examples/debian.sources": STANZAS})
    text = write_apt_sources(tree, "debian-sid", ["experimental"]).read("etc/apt/sources.list.d/debian.sources")
    assert text == (
        b"Types: deb\nURIs: http://archive.example/debian\nSuites: sid experimental\nComponents: main\n"
        b"Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
    )


def test_apt_without_examples_gives_no_sources(tmp_path: Path) -> None:
    tree = make_tree(Contents(tmp_path), {"usr/bin/apt": b""})
    assert write_apt_sources(tree, "debian-12", ()) is tree
