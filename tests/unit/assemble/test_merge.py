"""Merging: folders are shared, the same content is fine, everything else needs dpkg's say or is an error."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_debs import build_deb, read_deb

from rockiln.assemble.merge import Diversion, merge
from rockiln.assemble.replaces import replaces
from rockiln.contents import Contents
from rockiln.errors import AssembleError
from rockiln.manifest import Unpacked


class Debs:
    """Builds debs in one folder."""

    def __init__(self, path: Path) -> None:
        self.path, self.contents = path, Contents(path / "contents")

    def make(self, name: str, files: dict[str, str], **rest: object) -> Unpacked:
        return read_deb(build_deb(self.path, name, files, **rest), self.contents)  # type: ignore[arg-type]


@pytest.fixture
def debs(tmp_path: Path) -> Debs:
    return Debs(tmp_path)


def test_result_does_not_depend_on_order(debs: Debs) -> None:
    one = debs.make("one", {"usr/share/x/one": "1", "usr/share/y/": ""}, modes={"usr/share/y": 0o700})
    two = debs.make("two", {"usr/share/x/two": "2", "usr/share/y/": ""})
    assert dict(sorted(merge([one, two]).entries.items())) == dict(sorted(merge([two, one]).entries.items()))


def test_folder_that_is_not_0755_wins(debs: Debs) -> None:
    plain = debs.make("aaa", {"var/private/": ""})
    private = debs.make("zzz", {"var/private/": ""}, modes={"var/private": 0o700})
    entry = merge([plain, private]).entries["var/private"]
    assert (entry.mode, entry.owner) == (0o700, "deb:zzz")


def test_two_odd_folder_modes_are_reported(debs: Debs) -> None:
    one = debs.make("one", {"var/p/": ""}, modes={"var/p": 0o700})
    two = debs.make("two", {"var/p/": ""}, modes={"var/p": 0o750})
    merged = merge([one, two])
    assert merged.entries["var/p"].mode == 0o700
    assert [finding.rule for finding in merged.findings] == ["directory-mode"]


def test_same_content_is_shared_and_reported(debs: Debs) -> None:
    merged = merge([debs.make(name, {"usr/share/same": "same"}) for name in ("one", "two")])
    assert merged.entries["usr/share/same"].owner == "deb:one"
    assert [(finding.rule, finding.owner) for finding in merged.findings] == [("shared-path", "deb:two")]


def test_conflict_names_path_and_both_owners(debs: Debs) -> None:
    one, two = debs.make("one", {"usr/share/f": "1"}), debs.make("two", {"usr/share/f": "2"})
    with pytest.raises(AssembleError, match=r"usr/share/f is brought by deb:one \(file\) and by deb:two \(file\)"):
        merge([two, one])


def test_all_conflicts_are_named_at_once(debs: Debs) -> None:
    one = debs.make("one", {f"usr/share/f{i}": "1" for i in range(9)})
    two = debs.make("two", {f"usr/share/f{i}": "2" for i in range(9)})
    with pytest.raises(AssembleError) as caught:
        merge([one, two])
    assert caught.value.message.count("is brought by") == 5
    assert caught.value.message.endswith("and 4 more")


@pytest.mark.parametrize("name", ["aaa", "zzz"])
def test_replaces_lets_a_package_take_a_path(debs: Debs, name: str) -> None:
    old = debs.make("old", {"usr/share/f": "old", "usr/share/g": "g"})
    new = debs.make(name, {"usr/share/f": "new"}, fields={"Replaces": "old (<< 1.1)"})
    merged = merge([old, new])
    assert merged.entries["usr/share/f"].owner == f"deb:{name}"
    assert merged.replaced == {"deb:old": {"usr/share/f"}}


def test_replaces_of_another_version_does_not_count(debs: Debs) -> None:
    old = debs.make("old", {"usr/share/f": "old"})
    new = debs.make("new", {"usr/share/f": "new"}, fields={"Replaces": "old (<< 1.0)"})
    with pytest.raises(AssembleError, match="usr/share/f"):
        merge([old, new])


@pytest.mark.parametrize(
    ("field", "answer"),
    [
        ("old", True), ("old (<= 1.0)", True), ("old (= 1.0)", True), ("other, old (>= 0.9~)", True),
        ("old (>> 1.0)", False), ("other", False),
    ],
)
def test_replaces_compares_versions_as_debian_does(field: str, answer: bool) -> None:
    assert replaces(f"Package: new\nVersion: 2\nReplaces: {field}\n", "Package: old\nVersion: 1.0\n") is answer


def test_diverted_path_moves_unless_it_is_the_diverters(debs: Debs) -> None:
    dash = debs.make("dash", {"bin/sh": "-> dash"})
    other = debs.make("other", {"bin/sh": "-> other"})
    merged = merge([dash, other], [Diversion(path="usr/bin/sh", to="usr/bin/sh.distrib", owner="deb:dash")])
    assert merged.entries["usr/bin/sh"].link == "dash"
    assert merged.entries["usr/bin/sh.distrib"].link == "other"


def test_what_is_below_a_linked_folder_moves_to_where_it_leads(debs: Debs) -> None:
    linker = debs.make("linker", {"usr/share/doc/a": "-> ../b", "usr/share/b/": ""})
    filler = debs.make("filler", {"usr/share/doc/a/readme": "x"})
    merged = merge([filler, linker])
    assert merged.entries["usr/share/doc/a"].kind == "symlink"
    assert merged.entries["usr/share/b/readme"].owner == "deb:filler"
    assert "usr/share/doc/a/readme" not in merged.entries


def test_circle_of_linked_folders_is_named(debs: Debs) -> None:
    one = debs.make("one", {"usr/share/a": "-> b", "usr/share/b": "-> a"})
    two = debs.make("two", {"usr/share/a/readme": "x"})
    with pytest.raises(AssembleError, match="in a circle"):
        merge([one, two])


def test_hardlink_of_a_replaced_file_keeps_its_bytes(debs: Debs) -> None:
    old = debs.make("old", {"usr/bin/a": "same", "usr/bin/b": "same"})
    first = next(entry for entry in old.entries if entry.path == "usr/bin/a")
    linked = tuple(
        first._replace(path="usr/bin/b", kind="hardlink", size_bytes=0, sha256="", link="usr/bin/a")
        if entry.path == "usr/bin/b" else entry
        for entry in old.entries
    )  # fmt: skip
    old = Unpacked(artifact=old.artifact, entries=linked, deb=old.deb)
    new = debs.make("new", {"usr/bin/a": "new"}, fields={"Replaces": "old"})
    entry = merge([old, new]).entries["usr/bin/b"]
    assert (entry.kind, debs.contents.read_bytes(entry.sha256)) == ("file", b"same")
