"""A deb becomes what dpkg would have unpacked, or is refused by member name."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hostile import COMPRESSIONS, CONTROL, Item, artifact_of, deb_of, files_below, folder, hardlink, symlink, tar_of

from rockiln.contents import Contents
from rockiln.errors import UnpackError
from rockiln.manifest import Entry, Unpacked
from rockiln.unpack.deb import FLOOR_BYTES, limit_bytes, unpack_deb


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return Contents(tmp_path / "contents")


def unpack(contents: Contents, data: bytes) -> Unpacked:
    return unpack_deb(artifact_of(data), io.BytesIO(data), contents)


def unpack_items(contents: Contents, items: Iterable[Item]) -> Unpacked:
    return unpack(contents, deb_of(tar_of(items)))


TREE = [
    folder("./"),
    folder("./bin"),
    Item(name="./bin/su", data=b"su", mode=0o4755, gid=42),
    hardlink("./bin/sudo", "./bin/su"),
    symlink("./bin/sh", "dash"),
    folder("./usr"),
    folder("./usr/bin", mode=0o755),
    folder("./var"),
    folder("./var/mail", mode=0o2775),
    Item(name=f"./var/{'long/' * 30}name", data=b"deep"),
]


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_entries_are_those_of_a_merged_usr_image(contents: Contents, suffix: str) -> None:
    unpacked = unpack(contents, deb_of(tar_of(TREE), suffix=suffix))
    su = contents.put_bytes(b"su").sha256
    deep = contents.put_bytes(b"deep").sha256
    assert unpacked.entries == (
        Entry("usr/bin", "directory", 0o755, 0, 0, 0, "", "", "deb:small"),
        Entry("usr/bin/su", "file", 0o4755, 0, 42, 2, su, "", "deb:small"),
        Entry("usr/bin/sudo", "hardlink", 0o4755, 0, 42, 0, "", "usr/bin/su", "deb:small"),
        Entry("usr/bin/sh", "symlink", 0o777, 0, 0, 0, "", "dash", "deb:small"),
        Entry("usr", "directory", 0o755, 0, 0, 0, "", "", "deb:small"),
        Entry("var", "directory", 0o755, 0, 0, 0, "", "", "deb:small"),
        Entry("var/mail", "directory", 0o2775, 0, 0, 0, "", "", "deb:small"),
        Entry(f"var/{'long/' * 30}name", "file", 0o644, 0, 0, 4, deep, "", "deb:small"),
    )


def test_facts_are_as_the_package_has_them(contents: Contents) -> None:
    control = [
        folder("./"),
        Item(name="./postinst", data=b"#!/bin/sh\nexit 1\n", mode=0o755),
        Item(name="./control", data=CONTROL.encode()),
        Item(name="md5sums", data=b"caf\xe9\n"),
    ]
    facts = unpack(contents, deb_of(tar_of(TREE[:5]), control)).deb
    assert facts is not None
    assert facts.control == CONTROL
    assert facts.control_files == {"postinst": "#!/bin/sh\nexit 1\n", "md5sums": "caf\udce9\n"}
    assert facts.listed_paths == ("/.", "/bin", "/bin/su", "/bin/sudo", "/bin/sh")


def test_control_need_not_be_utf8(contents: Contents) -> None:
    control = CONTROL.encode() + b"Description: caf\xe9\n more\n .\n\tend\n\n"
    facts = unpack(contents, deb_of(tar_of([]), [Item(name="control", data=control)])).deb
    assert facts is not None
    assert facts.control.encode("utf-8", "surrogateescape") == control


def test_links_of_the_root_itself_stay_there(contents: Contents) -> None:
    unpacked = unpack_items(contents, [symlink("./bin", "usr/bin"), folder("./usr/bin"), symlink("./lib/x", "y")])
    assert [entry.path for entry in unpacked.entries] == ["bin", "usr/bin", "usr/lib/x"]


def test_hardlinks_lead_to_the_file_whatever_they_name(contents: Contents) -> None:
    items = [Item(name="./lib/a", data=b"x"), hardlink("./b", "./lib/a"), hardlink("c", "./b"), symlink("./d", "a"),
             hardlink("./e", "./d")]  # fmt: skip
    found = {entry.path: (entry.kind, entry.link) for entry in unpack_items(contents, items).entries}
    assert found == {
        "usr/lib/a": ("file", ""), "b": ("hardlink", "usr/lib/a"), "c": ("hardlink", "usr/lib/a"),
        "d": ("symlink", "a"), "e": ("symlink", "a"),
    }  # fmt: skip


def device(kind: bytes) -> Item:
    return Item(name="./dev/x", kind=kind)


FILE = Item(name="./a", data=b"x")


@pytest.mark.parametrize(
    ("items", "member", "reason"),
    [
        ([Item(name="../outside", data=b"x")], "'../outside'", "'..' part"),
        ([Item(name="./a/../../outside", data=b"x")], "'./a/../../outside'", "'..' part"),
        ([Item(name="/etc/passwd", data=b"x")], "'/etc/passwd'", "absolute name"),
        ([Item(name=".//etc/passwd", data=b"x")], "'.//etc/passwd'", "absolute name"),
        ([Item(name="./a\nb", data=b"x")], "'./a\\\\nb'", "control character"),
        ([Item(name="", data=b"x")], "''", "empty name"),
        ([Item(name="./", data=b"x")], "'./'", "image root is a directory"),
        ([symlink("./", "/etc")], "'./'", "image root is a directory"),
        ([symlink("./a", "../../etc")], "'./a'", "leaves the image root"),
        ([symlink("./a", "/../etc")], "'./a'", "leaves the image root"),
        ([symlink("./a", "/etc"), Item(name="./a/passwd")], "'a/passwd'", "through the symlink 'a' to '/etc'"),
        ([Item(name="./a/passwd"), symlink("./a", "/etc")], "'a/passwd'", "through the symlink 'a' to '/etc'"),
        ([symlink("./lib/a", "/"), Item(name="./usr/lib/a/b")], "'usr/lib/a/b'", "through the symlink 'usr/lib/a'"),
        ([FILE, Item(name="./a/b")], "'a/b'", "through the file 'a'"),
        ([FILE, folder("./a")], "'./a'", "a file and a directory are both to be 'a'"),
        ([FILE, FILE], "'./a'", "a file and a file are both to be 'a'"),
        ([Item(name="./lib/a"), Item(name="./usr/lib/a")], "'./usr/lib/a'", "are both to be 'usr/lib/a'"),
        ([hardlink("./b", "/etc/passwd")], "'/etc/passwd'", "absolute name"),
        ([hardlink("./b", "../a")], "'../a'", "'..' part"),
        ([hardlink("./b", "./a"), FILE], "'./b'", "hardlink to './a', which is no file before it"),
        ([folder("./a"), hardlink("./b", "./a")], "'./b'", "which is no file before it"),
        ([hardlink("./b", "./b")], "'./b'", "which is no file before it"),
        ([device(tarfile.CHRTYPE)], "'./dev/x'", "a character device"),
        ([device(tarfile.BLKTYPE)], "'./dev/x'", "a block device"),
        ([device(tarfile.FIFOTYPE)], "'./dev/x'", "a FIFO"),
        ([FILE, device(tarfile.GNUTYPE_SPARSE)], "'./a'", "header of type b'S'"),
        ([FILE, device(tarfile.XHDTYPE)], "'./a'", "header of type b'x'"),
        ([FILE, device(b"Z")], "'./a'", "header of type b'Z'"),
        ([Item(name="./a", uid=(1 << 32) - 1)], "'./a'", "impossible owner 4294967295:0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_hostile_members_are_refused_by_name(
    contents: Contents, tmp_path: Path, items: list[Item], member: str, reason: str
) -> None:
    with pytest.raises(UnpackError, match=rf"^small_2.0-1_amd64.deb: member {member}: .*({reason})"):
        unpack_items(contents, items)
    assert [path for path in files_below(tmp_path) if len(path.name) != 64] == []


def test_pax_headers_are_refused_as_dpkg_does(contents: Contents) -> None:
    data = tar_of([FILE, Item(name="./" + "x" * 200)], tarfile.PAX_FORMAT)
    with pytest.raises(UnpackError, match=r"member './a': tar header of type b'x'"):
        unpack(contents, deb_of(data))


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_names_of_gigabytes_are_refused_unread(contents: Contents, kind: bytes) -> None:
    info = Item(name="././@LongLink", kind=kind).info
    info.size = 8 << 30
    data = tar_of([FILE]).rstrip(b"\0").ljust(1024, b"\0") + info.tobuf(tarfile.GNU_FORMAT) + bytes(4096)
    with pytest.raises(UnpackError, match=r"member './a': impossible size 8589934592"):
        unpack(contents, deb_of(data))


def test_negative_size_is_refused(contents: Contents) -> None:
    info = Item(name="./b").info
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[124:136] = b"\xff" * 12
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + sum(header[156:]) + 8 * 32)
    with pytest.raises(UnpackError, match="impossible size -1"):
        unpack(contents, deb_of(bytes(header) + bytes(1024)))


@pytest.mark.parametrize(
    ("data_tar", "reason"),
    [
        (b"", "no end marker"),
        (tar_of([FILE])[:1024], "no end marker"),
        (tar_of([FILE])[:700], "unexpected end of data"),
        (tar_of([FILE])[:512], "ends early"),
        (tar_of([FILE])[:1024] + b"garbage!" * 64 + bytes(1024), "damaged header"),
        (tar_of([FILE])[:1024] + tar_of([FILE])[:300], "damaged header"),
    ],
)
@pytest.mark.parametrize("suffix", ["", ".zst", ".xz"])
def test_half_a_tar_archive_is_refused(contents: Contents, data_tar: bytes, reason: str, suffix: str) -> None:
    with pytest.raises(UnpackError, match=reason):
        unpack(contents, deb_of(data_tar, suffix=suffix))


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2", ".zst"])
def test_half_a_compressed_section_is_refused(contents: Contents, suffix: str) -> None:
    whole = COMPRESSIONS[suffix](tar_of([Item(name="./a", data=bytes(range(256)) * 1000)]))
    deb = deb_of(b"", suffix=suffix)
    start = deb.index(f"data.tar{suffix}".encode())
    header = f"{f'data.tar{suffix}':<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(whole) // 2:<10}`\n".encode()
    with pytest.raises(UnpackError, match=r"early|damaged"):
        unpack(contents, deb[:start] + header + whole[: len(whole) // 2])


def test_a_bomb_is_refused_before_it_unfolds(contents: Contents, tmp_path: Path) -> None:
    info = Item(name="./bomb").info
    info.size = 4 << 30
    data_tar = info.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20)
    with pytest.raises(UnpackError, match=r"member './bomb': of 4294967296 bytes is more than small_2\.0-1_amd64\.deb"):
        unpack(contents, deb_of(data_tar))
    assert files_below(tmp_path) == []


def test_nothing_is_kept_of_a_large_file_cut_short(contents: Contents, tmp_path: Path) -> None:
    info = Item(name="./large").info
    info.size = 5 << 20
    data_tar = info.tobuf(tarfile.GNU_FORMAT) + bytes(4 << 20)
    with pytest.raises(UnpackError, match=r"member './large': the archive ends early"):
        unpack(contents, deb_of(data_tar))
    assert files_below(tmp_path) == []


def test_a_bomb_behind_the_end_marker_stops_as_well(contents: Contents) -> None:
    data_tar = tar_of([FILE]) + bytes(2 * FLOOR_BYTES)
    with pytest.raises(UnpackError, match=r"unpacks to more than [0-9]+ bytes"):
        unpack(contents, deb_of(data_tar, suffix=".zst"))


def test_limit_follows_the_smaller_of_promise_and_ratio() -> None:
    mib = 1 << 20
    assert limit_bytes(mib, 10) == FLOOR_BYTES + 20 * 1024
    assert limit_bytes(mib, 10**9) == FLOOR_BYTES + 500 * mib
    assert limit_bytes(mib, None) == FLOOR_BYTES + 500 * mib
    assert limit_bytes(100 * mib, 300 * 1024) == FLOOR_BYTES + 600 * mib


def test_a_million_small_members_are_a_bomb(contents: Contents, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rockiln.unpack.deb.FLOOR_MEMBERS", 100)
    with pytest.raises(UnpackError, match=r"member './110': more than 110 members"):
        unpack_items(contents, [symlink(f"./{number}", "x") for number in range(200)])


@pytest.mark.parametrize(
    ("control", "reason"),
    [
        ([], "member 'control': missing"),
        ([symlink("./control", "/etc/passwd")], "member './control': control data may hold plain files only"),
        ([Item(name="./a/control")], "plain files only"),
        ([Item(name="../control")], "'..' part"),
        ([Item(name="./control", data=CONTROL.encode())] * 2, "occurs twice"),
        (CONTROL.replace("small", "other"), r"is of 'other 1:2.0-1 amd64'; locked is small 1:2.0-1 amd64"),
        (CONTROL.replace("1:2.0-1", "2.0-1"), "locked is"),
        (CONTROL.replace("amd64", "arm64"), "locked is"),
        (CONTROL + "package: other\n", r"has two fields 'package'"),
        (" continued\n" + CONTROL, r"neither a field nor its continuation: ' continued'"),
        (CONTROL + "\nPackage: second\n", r"neither a field nor its continuation: ''"),
        ("nonsense", r"neither a field nor its continuation: 'nonsense'"),
        ("", r"neither a field nor its continuation: ''"),
    ],
)
def test_control_of_something_else_is_refused(contents: Contents, control: list[Item] | str, reason: str) -> None:
    with pytest.raises(UnpackError, match=reason):
        unpack(contents, deb_of(tar_of([]), control))


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb is not here")
@pytest.mark.parametrize("compression", ["gzip", "xz", "zstd", "none"])
def test_what_dpkg_deb_builds_is_read(contents: Contents, tmp_path: Path, compression: str) -> None:
    tree = tmp_path / "tree"
    (tree / "DEBIAN").mkdir(parents=True, mode=0o755)
    (tree / "DEBIAN/control").write_text(CONTROL + "Description: small\n")
    (tree / "lib").mkdir()
    (tree / "lib/file").write_bytes(b"data")
    (tree / "lib/link").symlink_to("file")
    (tree / "lib/second").hardlink_to(tree / "lib/file")
    deb = tmp_path / "small.deb"
    subprocess.run(["dpkg-deb", f"-Z{compression}", "--root-owner-group", "-b", tree, deb], check=True, stdout=-3)
    unpacked = unpack(contents, deb.read_bytes())
    listing = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(listing)) as archive:
        names = [name.removeprefix(".") for name in archive.getnames()]
    assert unpacked.deb is not None
    assert unpacked.deb.listed_paths == tuple(name or "/." for name in names)
    assert {(entry.path, entry.kind) for entry in unpacked.entries} == {
        ("usr/lib", "directory"), ("usr/lib/file", "file"), ("usr/lib/link", "symlink"), ("usr/lib/second", "hardlink"),
    }  # fmt: skip
