"""Entries → tar: what tarfile reads back, and when it refuses."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from imaging import make_entry

from rockiln.contents import Contents
from rockiln.errors import IntegrityError
from rockiln.manifest import Entry
from rockiln.tar_stream import CHUNK_BYTES, EPOCH_S, make_header, sort_members, stream_tar


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return Contents(tmp_path / "contents")


def read_back(entries: Iterable[Entry], contents: Contents) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(b"".join(stream_tar(entries, contents)))) as archive:
        return {member.name: member for member in archive}


def test_members_come_back_as_they_went(contents: Contents) -> None:
    entries = [
        make_entry(contents, "usr", "a", ""),
        make_entry(contents, "usr/file", "a", b"x" * 513)._replace(mode=0o4755, uid=7, gid=8),
        make_entry(contents, "usr/link", "a", "-> file"),
        make_entry(contents, "usr/also", "a", "=> usr/file"),
    ]
    members = read_back(entries, contents)
    assert list(members) == ["usr", "usr/file", "usr/link", "usr/also"]
    file = members["usr/file"]
    assert (file.size, file.mode, file.uid, file.gid, file.mtime) == (513, 0o4755, 7, 8, EPOCH_S)
    assert (file.uname, file.gname) == ("", "")
    assert members["usr/link"].issym()
    assert members["usr/link"].linkname == "file"
    assert members["usr/also"].islnk()
    assert members["usr/also"].linkname == "usr/file"


def test_order_of_entries_does_not_matter(contents: Contents) -> None:
    entries = [make_entry(contents, path, "a", b"x") for path in ("b", "a", "a-b", "c/d")]
    assert list(stream_tar(entries, contents)) == list(stream_tar(reversed(entries), contents))


def test_folders_come_before_what_they_hold() -> None:
    paths = ["a/b", "a", "a-b", "a/b/c", "a.d"]
    entries = [Entry(path, "directory", 0o755, 0, 0, 0, "", "", "") for path in paths]
    order = [entry.path for entry in sort_members(entries)]
    assert all(order.index(path.rpartition("/")[0]) < order.index(path) for path in order if "/" in path)


@pytest.mark.parametrize(
    "path",
    ["d" * 90 + "/" + "f" * 95, "n" * 101, "d" * 200 + "/" + "n" * 200, "naïve/日本.txt", "odd\nname", "sp ace"],
    ids=["ustar-prefix", "pax-name", "pax-long", "unicode", "newline", "space"],
)
def test_any_name_survives(path: str, contents: Contents) -> None:
    link = make_entry(contents, "zz", "a", f"-> {path}")
    members = read_back([make_entry(contents, path, "a", b"hi"), link], contents)
    assert members[path].size == 2
    assert members["zz"].linkname == path


def test_a_short_ascii_name_needs_one_block() -> None:
    assert len(make_header(Entry("a" * 99, "file", 0o644, 0, 0, 5, "", "", ""))) == 512


def test_a_file_of_nine_gigabytes_has_its_size_in_the_header() -> None:
    header = make_header(Entry("big", "file", 0o644, 0, 0, 9 << 30, "", "", ""))
    assert tarfile.TarInfo.frombuf(header[-512:], "utf-8", "strict").name == "big"
    assert b"size=9663676416\n" in header


def test_a_uid_too_large_for_ustar_survives(contents: Contents) -> None:
    members = read_back([make_entry(contents, "f", "a", b"")._replace(uid=3_000_000)], contents)
    assert members["f"].uid == 3_000_000


@pytest.mark.parametrize("damage", [b"y" * 10, b"x" * 9, b"x" * 11, b""], ids=["flipped", "short", "long", "empty"])
def test_damaged_content_is_named_with_its_path(contents: Contents, damage: bytes) -> None:
    entry = make_entry(contents, "usr/bin/tool", "a", b"x" * 10)
    contents.path_of(entry.sha256).unlink()
    contents.path_of(entry.sha256).write_bytes(damage)
    with pytest.raises(IntegrityError, match=r"^usr/bin/tool: content [0-9a-f]{64} in ") as caught:
        list(stream_tar([entry], contents))
    assert caught.value.sha256 == entry.sha256


def test_missing_content_is_an_integrity_error(contents: Contents) -> None:
    entry = make_entry(contents, "f", "a", b"gone")
    contents.discard(entry.sha256)
    with pytest.raises(IntegrityError) as caught:
        list(stream_tar([entry], contents))
    assert caught.value.sha256 == entry.sha256


def test_pieces_stay_small(contents: Contents) -> None:
    entry = make_entry(contents, "big", "a", bytes(3 * CHUNK_BYTES + 1))
    assert max(map(len, stream_tar([entry], contents))) == CHUNK_BYTES
