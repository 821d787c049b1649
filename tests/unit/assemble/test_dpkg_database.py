"""The database is byte for byte what dpkg itself leaves after installing the same packages."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from small_debs import EFFECT, build_deb, read_deb

from rockiln.assemble.dpkg_database import add_dpkg_database
from rockiln.assemble.effects import Applied
from rockiln.assemble.merge import merge
from rockiln.assemble.tree import Tree
from rockiln.contents import Contents

FOLDER = "var/lib/dpkg"
TRIGGERS = "interest-noawait /usr/share/tiny\n# why\ninterest tiny-done\nactivate-noawait ldconfig\n"
needs_dpkg = pytest.mark.skipif(not shutil.which("dpkg"), reason="no dpkg here")


def build_debs(path: Path) -> list[Path]:
    same = {"Multi-Arch": "same", "Section": "libs", "Homepage": "https://example.org", "Source": "tiny (2.0)"}
    sums = {"md5sums": "4a8a08f09d37b73795649038408b5f33  usr/lib/libtiny.so.1\n", "shlibs": "libtiny 1 libtiny1\n"}
    extra = {"prerm": "#!/bin/sh\nexit 0\n", "templates": "Template: a\n"}
    return [
        build_deb(
            path, "tiny", {"etc/tiny.conf": "a", "usr/bin/tiny": "b", "usr/share/tiny/x": "-> y"},
            {"conffiles": "/etc/tiny.conf\n", "triggers": TRIGGERS}, {"Depends": "libtiny1", "Installed-Size": "7"},
        ),
        build_deb(
            path, "libtiny1", {"usr/lib/libtiny.so.1": "c", "usr/share/doc/libtiny1/copyright": "d"}, sums,
            {**same, "Replaces": "tiny (<< 0.5)", "Tag": "devel::library"},
        ),
        build_deb(path, "scripted", {"usr/share/scripted/": ""}, extra),
    ]  # fmt: skip


def install(paths: Sequence[Path], root: Path) -> None:
    """With the real dpkg, in a root of its own; the packages' scripts run at removal only, so none runs."""
    for folder in ("info", "updates", "triggers"):
        (root / FOLDER / folder).mkdir(parents=True)
    (root / FOLDER / "status").touch()
    command = ["dpkg", f"--root={root}", "--log=/dev/null", "--force-not-root", "--force-bad-path", "--force-unsafe-io"]
    environ = {**os.environ, "DPKG_MAINTSCRIPT_DEBUG": ""}
    subprocess.run([*command, "--install", *map(str, paths)], check=True, capture_output=True, env=environ)


def assemble_debs(paths: Sequence[Path], contents: Contents, requested: Sequence[str]) -> Tree:
    unpacked = [read_deb(path, contents) for path in paths]
    merged = merge(unpacked)
    tree = Tree(entries=merged.entries, contents=contents)
    return add_dpkg_database(tree, unpacked, (), merged.replaced, requested)


@needs_dpkg
def test_same_bytes_as_dpkg(tmp_path: Path) -> None:
    paths = build_debs(tmp_path)
    install(paths, tmp_path / "root")
    tree = assemble_debs(paths, Contents(tmp_path / "contents"), ["deb:tiny", "deb:libtiny1", "deb:scripted"])
    made = {path.relative_to(tmp_path / "root").as_posix(): path for path in (tmp_path / "root" / FOLDER).rglob("*")}
    left_by_work = {f"{FOLDER}/{name}" for name in ("lock", "lock-frontend", "status-old", "triggers/Lock")}
    expected = {place: path for place, path in made.items() if path.is_file() and place not in left_by_work}
    ours = {path for path, entry in tree.entries.items() if path.startswith(FOLDER) and entry.kind == "file"}
    assert ours - expected.keys() == {f"{FOLDER}/arch", f"{FOLDER}/diversions"}
    assert expected.keys() - ours == set()
    for place, path in expected.items():
        assert tree.read(place) == path.read_bytes(), place
        assert tree.entries[place].mode == path.stat().st_mode & 0o777, place


@needs_dpkg
def test_dpkg_finds_nothing_wrong(tmp_path: Path) -> None:
    tree = assemble_debs(build_debs(tmp_path), Contents(tmp_path / "contents"), [])
    root = tmp_path / "root"
    for path, entry in tree.entries.items():
        if entry.kind == "directory":
            (root / path).mkdir(parents=True, exist_ok=True)
        elif entry.kind == "file":
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(tree.contents.read_bytes(entry.sha256))
    audit = subprocess.run(["dpkg", f"--root={root}", "--audit"], check=True, capture_output=True, text=True)
    assert audit.stdout == ""
    listed = subprocess.run(["dpkg", f"--root={root}", "-l"], check=True, capture_output=True, text=True)
    assert [line.split()[:2] for line in listed.stdout.splitlines() if line.startswith("ii")] == [
        ["ii", "libtiny1:amd64"], ["ii", "scripted"], ["ii", "tiny"],
    ]  # fmt: skip
    verified = subprocess.run(["dpkg", f"--root={root}", "-V"], check=False, capture_output=True, text=True)
    assert "usr/lib/libtiny.so.1" not in verified.stdout


def test_dependencies_are_marked_as_such_for_apt(tmp_path: Path) -> None:
    tree = assemble_debs(build_debs(tmp_path), Contents(tmp_path / "contents"), ["deb:tiny", "deb:scripted"])
    assert tree.read("var/lib/apt/extended_states") == (
        b"Package: libtiny1\nArchitecture: amd64\nAuto-Installed: 1\n\n"
    )


def test_path_that_was_taken_over_leaves_the_list(tmp_path: Path) -> None:
    paths = [
        build_deb(tmp_path, "old", {"usr/share/f": "old", "usr/share/g": "g"}),
        build_deb(tmp_path, "new", {"usr/share/f": "new"}, fields={"Replaces": "old"}),
    ]
    tree = assemble_debs(paths, Contents(tmp_path / "contents"), [])
    assert tree.read(f"{FOLDER}/info/old.list") == b"/.\n/usr\n/usr/share\n/usr/share/g\n"


def test_info_files_belong_to_their_package_and_the_status_to_the_image(tmp_path: Path) -> None:
    tree = assemble_debs(build_debs(tmp_path), Contents(tmp_path / "contents"), [])
    assert tree.entries[f"{FOLDER}/info/libtiny1:amd64.list"].owner == "deb:libtiny1"
    assert tree.entries[f"{FOLDER}/status"].owner == "rockiln"


def test_diversions_are_written_as_dpkg_reads_them(tmp_path: Path) -> None:
    contents = Contents(tmp_path / "contents")
    deb = read_deb(build_deb(tmp_path, "dash", {"bin/sh": "-> dash"}), contents)
    effect = replace(EFFECT, diversions=(("/usr/b", "/usr/b.distrib"), ("/bin/sh", "/bin/sh.distrib")))
    applied = [Applied(owner="deb:dash", package="dash", effect=effect)]
    tree = add_dpkg_database(Tree(entries={}, contents=contents), [deb], applied, {}, [])
    assert tree.read(f"{FOLDER}/diversions") == b"/bin/sh\n/bin/sh.distrib\ndash\n/usr/b\n/usr/b.distrib\ndash\n"


def test_image_without_debs_has_no_database(tmp_path: Path) -> None:
    tree = Tree(entries={}, contents=Contents(tmp_path))
    assert add_dpkg_database(tree, [], (), {}, []) is tree
