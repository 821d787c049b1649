"""A zip whose directory lies, and one that does not."""

from __future__ import annotations

import io
import stat
import struct
import zipfile

import pytest
from hostile import wheel_artifact, zip_of

from rockiln.errors import UnpackError
from rockiln.unpack import zip_reader
from rockiln.unpack.zip_reader import read_directory, read_member

FILES = {"a/stored.txt": b"stored", "a/deep/packed.bin": bytes(3 << 20), "empty": b""}


def contents_of(data: bytes) -> dict[str, bytes]:
    artifact, file = wheel_artifact(data), io.BytesIO(data)
    return {m.name: b"".join(read_member(artifact, file, m)) for m in read_directory(artifact, file)}


def with_directory_changed(data: bytes, name: str, offset: int, value: bytes) -> bytes:
    """Overwrite a field of the central directory's entry for `name`; the file's own header stays."""
    start = data.rindex(name.encode()) - 46
    return data[: start + offset] + value + data[start + offset + len(value) :]


def test_members_come_back() -> None:
    assert contents_of(zip_of(FILES)) == FILES


def test_stored_members_folders_and_zip64_are_read() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.mkdir("folder")
        with archive.open(zipfile.ZipInfo("folder/a"), "w", force_zip64=True) as file:
            file.write(b"wide")
        archive.writestr("folder/b", b"stored")
    assert contents_of(buffer.getvalue()) == {"folder/a": b"wide", "folder/b": b"stored"}


def test_executables_are_known() -> None:
    data = zip_of(FILES, {"empty": 0o100755})
    assert [m.is_executable for m in read_directory(wheel_artifact(data), io.BytesIO(data))] == [False, False, True]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../outside", "'..' part"),
        ("a/../../outside", "'..' part"),
        ("/etc/passwd", "absolute name"),
        ("//etc/passwd", "absolute name"),
        ("a//b", "an empty"),
        ("a\nb", "control character"),
        ("", "empty name"),
    ],
)
def test_hostile_names_are_refused(name: str, reason: str) -> None:
    with pytest.raises(UnpackError) as caught:
        contents_of(zip_of({name: b"x"}))
    assert caught.value.message.startswith(f"small-1.0-py3-none-any.whl: member {name!a}: ")
    assert reason in caught.value.message


def test_name_with_nul_is_refused() -> None:
    data = zip_of({"a/b_c": b"x"}).replace(b"a/b_c", b"a/b\0c")
    with pytest.raises(UnpackError, match=r"member 'a/b\\x00c': control character"):
        contents_of(data)


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        (stat.S_IFLNK, "symlink"),
        (stat.S_IFCHR, "character device"),
        (stat.S_IFBLK, "block device"),
        (stat.S_IFIFO, "FIFO"),
        (stat.S_IFSOCK, "socket"),
        (stat.S_IFDIR, "folder without a slash"),
        (0o150000, "special file"),
    ],
)
def test_only_plain_files_are_taken(kind: int, word: str) -> None:
    with pytest.raises(UnpackError, match=f"member 'x': a {word}, where wheels hold plain files only"):
        contents_of(zip_of({"x": b"/etc/passwd"}, {"x": kind | 0o777}))


@pytest.mark.parametrize(
    ("offset", "value", "reason"),
    [
        (24, struct.pack("<I", 5), "unpacks to more than the 5 bytes it claims"),
        (24, struct.pack("<I", 4 << 20), "unpacks to less than the 4194304 bytes it claims"),
        (20, struct.pack("<I", 2), "ends early"),
        (10, struct.pack("<H", zipfile.ZIP_LZMA), "compression method 14"),
        (8, struct.pack("<H", 1), "encrypted"),
        (42, struct.pack("<I", 3), "is not at its place in the file"),
        (42, struct.pack("<I", 1 << 30), "reach beyond the end|not a readable zip"),
    ],
)
def test_a_lying_directory_is_refused(offset: int, value: bytes, reason: str) -> None:
    data = with_directory_changed(zip_of({"a/packed": bytes(3 << 20)}), "a/packed", offset, value)
    with pytest.raises(UnpackError, match=reason):
        contents_of(data)


def test_another_name_in_the_file_than_in_the_directory_is_refused() -> None:
    data = zip_of({"good": b"x"}).replace(b"good", b"evil", 1)
    with pytest.raises(UnpackError, match=r"member 'good': has another name at its place in the file: b'evil'"):
        contents_of(data)


def test_members_that_share_bytes_are_refused() -> None:
    data = zip_of({"a": bytes(100), "b": bytes(100)})
    with pytest.raises(UnpackError, match=r"member 'b': overlaps another member"):
        contents_of(with_directory_changed(data, "b", 42, struct.pack("<I", 0)))


def test_a_bomb_is_refused_before_it_unfolds() -> None:
    data = zip_of({"a": b"x", "bomb": bytes(100)})
    data = with_directory_changed(data, "bomb", 24, struct.pack("<I", (4 << 30) - 2))
    with pytest.raises(UnpackError, match=r"member 'bomb': with it the wheel unpacks to more than [0-9]+ bytes"):
        contents_of(data)


def test_too_many_members_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_reader, "MOST_MEMBERS", 2)
    with pytest.raises(UnpackError, match="member 'c': more than 2 members"):
        contents_of(zip_of({"a": b"", "b": b"", "c": b""}))


@pytest.mark.parametrize("data", [b"", b"PK\x05\x06", b"x" * 1000, zip_of(FILES)[:-30], zip_of(FILES)[:40]])
def test_what_is_no_zip_is_refused(data: bytes) -> None:
    with pytest.raises(UnpackError, match="not a readable zip"):
        contents_of(data)
