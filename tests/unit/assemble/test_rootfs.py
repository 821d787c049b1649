"""Assembling small real debs: the whole stage, in order, with nothing executed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from imaging import make_entry
from planning import make_planned
from small_debs import build_deb, read_deb

from rockiln.assemble.rootfs import assemble
from rockiln.assemble.tree import make_directory
from rockiln.console import Console
from rockiln.contents import Contents
from rockiln.engines.protocol import Command, Completed
from rockiln.errors import AssembleError
from rockiln.locked import LockedTarget
from rockiln.manifest import Entry, Unpacked
from rockiln.recipe_file import User
from rockiln.rootfs import Rootfs


class NoSandbox:
    """There is no program in these images; so nothing may be run."""

    def obstacle(self) -> str:
        return "not needed"

    def run(self, tree_path: Path, command: Command) -> Completed:
        raise AssertionError(f"{command.argv} was run in {tree_path}")


DEFAULTS = ("dot.profile", "dot.bashrc", "profile", "motd", "info.dir")
MASTERS = {"passwd": "root:*:0:0:root:/root:/bin/sh\n", "group": "root:*:0:\n"}


def make_debs(tmp_path: Path, contents: Contents) -> list[Unpacked]:
    """base-files with a script that nobody has read, base-passwd and a shell."""
    files = {f"usr/share/base-files/{name}": name for name in DEFAULTS} | {"tmp/": "", "usr/bin/": ""}
    script = f"#!/bin/sh\ntouch {tmp_path}/executed\n"
    paths = [
        build_deb(tmp_path, "base-files", files, {"postinst": script}, modes={"tmp": 0o1777}),
        build_deb(tmp_path, "base-passwd", {f"usr/share/base-passwd/{n}.master": text for n, text in MASTERS.items()}),
        build_deb(tmp_path, "dash", {"bin/dash": "dash", "bin/sh": "-> dash"}),
    ]
    return [read_deb(path, contents) for path in paths]


def run_stage(
    tmp_path: Path, unpacked: Sequence[Unpacked], generated: Sequence[Entry] = (), **recipe: object
) -> Rootfs:
    planned = make_planned()
    planned = replace(planned, recipe=replace(planned.recipe, **recipe))  # type: ignore[arg-type]  # fields of Recipe
    artifacts = tuple(one.artifact for one in unpacked)
    locked = LockedTarget(target_id=planned.id, inputs_sha256="", artifacts=artifacts, requested=("deb:dash",))
    contents = Contents(tmp_path / "contents")
    return assemble(planned, locked, unpacked, contents, NoSandbox(), tmp_path / "cache", generated, 2, Console(None))


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return Contents(tmp_path / "contents")


def test_tree_is_whole_sorted_and_owned(tmp_path: Path, contents: Contents) -> None:
    rootfs = run_stage(tmp_path, make_debs(tmp_path, contents))
    paths = list(rootfs.entries)
    assert paths == sorted(paths)
    assert all(path.rpartition("/")[0] in rootfs.entries for path in paths if "/" in path)
    assert {entry.owner for entry in rootfs.entries.values()} <= rootfs.owners.keys()
    assert all(path == entry.path for path, entry in rootfs.entries.items())
    assert rootfs.entries["bin"].link == "usr/bin"
    assert contents.read_bytes(rootfs.entries["etc/passwd"].sha256) == b"root:*:0:0:root:/root:/bin/sh\n"
    assert "var/lib/dpkg/info/dash.list" in rootfs.entries


def test_scripts_are_reported_and_never_executed(tmp_path: Path, contents: Contents) -> None:
    rootfs = run_stage(tmp_path, make_debs(tmp_path, contents))
    assert [(finding.rule, finding.owner) for finding in rootfs.findings] == [("unreviewed-script", "deb:base-files")]
    assert not (tmp_path / "executed").exists()


def test_order_of_artifacts_does_not_matter(tmp_path: Path, contents: Contents) -> None:
    debs = make_debs(tmp_path, contents)
    assert run_stage(tmp_path, debs) == run_stage(tmp_path, debs[::-1])


def test_recipes_files_stand_before_effects(tmp_path: Path, contents: Contents) -> None:
    generated = [make_entry(contents, "etc/motd", "rockiln", b"ours")]
    rootfs = run_stage(tmp_path, make_debs(tmp_path, contents), generated)
    assert contents.read_bytes(rootfs.entries["etc/motd"].sha256) == b"ours"


def test_recipes_file_over_a_packages_file_is_refused(tmp_path: Path, contents: Contents) -> None:
    generated = [make_entry(contents, "usr/bin/dash", "rockiln", b"ours")]
    with pytest.raises(AssembleError, match=r"dash: the recipe brings it \(file\), and so does deb:dash \(file\)"):
        run_stage(tmp_path, make_debs(tmp_path, contents), generated)


def test_recipes_folder_gives_its_rights_to_the_packages(tmp_path: Path, contents: Contents) -> None:
    generated = [make_directory("usr/share", "rockiln", 0o1777)]
    entry = run_stage(tmp_path, make_debs(tmp_path, contents), generated).entries["usr/share"]
    assert (entry.mode, entry.owner) == (0o1777, "deb:base-files")


def test_recipes_user_is_in_the_image(tmp_path: Path, contents: Contents) -> None:
    user = User(name="ada", uid=1000, gid=1000, home="/home/ada", shell="/bin/sh")  # noqa: S604 - a login shell
    rootfs = run_stage(tmp_path, make_debs(tmp_path, contents), users=(user,))
    assert b"\nada:*:1000:" in contents.read_bytes(rootfs.entries["etc/passwd"].sha256)
    assert rootfs.entries["home/ada"].uid == 1000
