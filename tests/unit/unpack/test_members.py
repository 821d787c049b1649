"""Which names may become paths of an image, and which may not."""

from __future__ import annotations

import pytest
from hostile import artifact_of

from rockiln.errors import UnpackError
from rockiln.manifest import Entry, EntryKind
from rockiln.unpack.members import Members, check_symlink, image_path, merge_usr, refuse

ARTIFACT = artifact_of(b"")


def entry(path: str, kind: EntryKind = "file", link: str = "") -> Entry:
    return Entry(path, kind, 0o644, 0, 0, 0, "", link, ARTIFACT.owner)


@pytest.mark.parametrize(
    ("member", "path"),
    [
        ("./", ""),
        (".", ""),
        ("./usr/bin/ls", "usr/bin/ls"),
        ("usr/share/doc/", "usr/share/doc"),
        ("./etc/...", "etc/..."),
        ("./usr/share/caf\u00e9/\udce9", "usr/share/caf\u00e9/\udce9"),
        ("./a b\\c", "a b\\c"),
    ],
)
def test_ordinary_names_become_paths(member: str, path: str) -> None:
    assert image_path(ARTIFACT, member) == path


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        ("", "empty name"),
        ("/", "absolute name"),
        ("/etc/passwd", "absolute name"),
        (".//etc/passwd", "absolute name"),
        ("//etc/passwd", "absolute name"),
        ("../etc/passwd", "'..' part"),
        ("./../etc/passwd", "'..' part"),
        ("./usr/../../etc/passwd", "'..' part"),
        ("./usr/..", "'..' part"),
        ("..", "'..' part"),
        ("./usr//bin", "an empty"),
        ("./usr/./bin", "'.' or"),
        ("././usr", "'.' or"),
        ("usr/bin//", "an empty"),
        ("usr/li\0b", "control character"),
        ("usr/li\nb", "control character"),
        ("usr/\x1b[31mred", "control character"),
        ("usr/\x7f", "control character"),
        ("x" * 256, "longer than Linux allows"),
        ("\u00e9" * 128, "longer than Linux allows"),
        ("/".join(["x" * 200] * 21), "longer than Linux allows"),
        ("/".join("x" * 257), "more than 256 folders deep"),
    ],
)
def test_other_names_are_refused_by_name(member: str, reason: str) -> None:
    with pytest.raises(UnpackError) as caught:
        image_path(ARTIFACT, member)
    assert reason in caught.value.message
    assert caught.value.message.startswith(f"small_2.0-1_amd64.deb: member {ascii(member[:200])[:-1]}")


def test_messages_are_plain_ascii_and_short() -> None:
    with pytest.raises(UnpackError) as caught:
        refuse(ARTIFACT, "\x1b]0;\udce9\u202e" * 1000, "odd")
    assert caught.value.message.isascii()
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 1400


@pytest.mark.parametrize(
    ("path", "merged"),
    [
        ("bin", "usr/bin"),
        ("bin/ls", "usr/bin/ls"),
        ("lib64/ld-linux-x86-64.so.2", "usr/lib64/ld-linux-x86-64.so.2"),
        ("libx32/a", "usr/libx32/a"),
        ("libexec/a", "libexec/a"),
        ("usr/bin/ls", "usr/bin/ls"),
        ("etc/bin/ls", "etc/bin/ls"),
    ],
)
def test_usr_is_merged(path: str, merged: str) -> None:
    assert merge_usr(path) == merged


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("usr/bin/awk", "/etc/alternatives/awk"),
        ("usr/bin/sh", "dash"),
        ("usr/lib/x/y", "../../bin/ls"),
        ("usr/lib/x/y", "../../.."),
        ("etc/mtab", "../proc/self/mounts"),
        ("a", "/"),
        ("a", "."),
    ],
)
def test_symlinks_within_the_root_pass(path: str, target: str) -> None:
    check_symlink(ARTIFACT, path, path, target)


@pytest.mark.parametrize(
    ("path", "target", "reason"),
    [
        ("a", "..", "leaves the image root"),
        ("usr/a", "../../etc", "leaves the image root"),
        ("usr/a", "b/../../..", "leaves the image root"),
        ("usr/bin/a", "/..", "leaves the image root"),
        ("usr/bin/a", "/usr/../../etc/passwd", "leaves the image root"),
        ("usr/bin/a", "", "symlink to nothing"),
        ("usr/bin/a", "b\0c", "control character"),
        ("usr/bin/a", "x" * 4096, "longer than Linux allows"),
    ],
)
def test_symlinks_that_climb_out_are_refused(path: str, target: str, reason: str) -> None:
    with pytest.raises(UnpackError, match=reason):
        check_symlink(ARTIFACT, path, path, target)


def test_a_directory_named_twice_is_one() -> None:
    members = Members(ARTIFACT, 10)
    members.add("./lib", entry("usr/lib", "directory"))
    members.add("./usr/lib", entry("usr/lib", "directory")._replace(mode=0o700))
    assert members.finish() == (entry("usr/lib", "directory"),)


@pytest.mark.parametrize(
    ("first", "second"),
    [("file", "file"), ("file", "directory"), ("directory", "file"), ("symlink", "directory"), ("symlink", "symlink")],
)
def test_one_path_for_two_members_is_refused(first: EntryKind, second: EntryKind) -> None:
    members = Members(ARTIFACT, 10)
    members.add("a", entry("a", first))
    with pytest.raises(UnpackError, match=f"member 'a': a {first} and a {second} are both to be 'a'"):
        members.add("a", entry("a", second))


@pytest.mark.parametrize(
    ("outer", "reason"),
    [
        (entry("a/b", "symlink", "../../../etc"), r"through the symlink 'a/b' to '../../../etc' of the same archive"),
        (entry("a/b", "symlink", "c"), r"through the symlink 'a/b' to 'c'"),
        (entry("a/b", "file"), r"through the file 'a/b'"),
        (entry("a/b", "hardlink", "x"), r"through the hardlink 'a/b'"),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_nothing_lies_below_what_is_no_directory(outer: Entry, reason: str, is_first: bool) -> None:
    inner = entry("a/b/c/d")
    members = Members(ARTIFACT, 10)
    for item in (outer, inner) if is_first else (inner, outer):
        members.add(item.path, item)
    with pytest.raises(UnpackError, match=f"member 'a/b/c/d': to be written {reason}"):
        members.finish()


def test_too_many_members_are_refused() -> None:
    members = Members(ARTIFACT, 2)
    members.add("a", entry("a"))
    members.add("b", entry("b"))
    with pytest.raises(UnpackError, match="member 'c': more than 2 members"):
        members.add("c", entry("c"))
