"""Libraries without symbol tables: what is mapped stays the same, what is unusual is left alone, RECORD stays true."""

from __future__ import annotations

import base64
import ctypes
import hashlib
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from imaging import make_rootfs
from leftovers import flip_byte

from rockiln.contents import Contents
from rockiln.errors import IntegrityError
from rockiln.fatbin.byte_source import ByteSource
from rockiln.fatbin.elf import read_elf
from rockiln.slim_rules import StripRule
from rockiln.strip_symbols import Stripped, StrippedFile, plan_strip, strip_symbols

SITE = "opt/venv/lib/python3.11/site-packages"
LIBRARY = f"{SITE}/pkg/answer.cpython-311-x86_64-linux-gnu.so"
RECORD = f"{SITE}/pkg-1.0.dist-info/RECORD"
RULE = StripRule(rule="symbols", owners=("wheel:*",), keep=(), why="a test")
SOURCE = "".join(f"static int part{n}(int x) {{ return x * {n}; }}\n" for n in range(300)) + (
    "int values[3] = {1, 2, 3};\nint answer(int x) { return "
    + " + ".join(f"part{n}(x)" for n in range(300)) + " + values[0]; }\n"
)  # fmt: skip

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return Contents(tmp_path / "contents")


@pytest.fixture(scope="module")
def compile_library(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., bytes]:
    folder = tmp_path_factory.mktemp("libraries")
    (folder / "answer.c").write_text(SOURCE)

    def compile_with(*flags: str) -> bytes:
        argv = ["gcc", "-shared", "-fPIC", "-O0", *flags, "-o", folder / "answer.so", folder / "answer.c"]
        subprocess.run(argv, check=True)
        return (folder / "answer.so").read_bytes()

    return compile_with


def strip(data: bytes, contents: Contents, tmp_path: Path, rule: StripRule = RULE) -> bytes:
    return contents.read_bytes(strip_tree(data, contents, tmp_path, rule).rootfs.entries[LIBRARY].sha256)


def strip_tree(data: bytes, contents: Contents, tmp_path: Path, rule: StripRule = RULE) -> Stripped:
    row = "pkg/answer.cpython-311-x86_64-linux-gnu.so,sha256=old,1\r\n"
    record = f"pkg/__init__.py,sha256=abc,3\r\n{row}pkg-1.0.dist-info/RECORD,,\r\n".encode()
    rootfs = make_rootfs(contents, {LIBRARY: ("wheel:pkg", data), RECORD: ("wheel:pkg", record)})
    return strip_symbols(rootfs, (rule,), contents, tmp_path / "cache")


@pytest.mark.parametrize("flags", [(), ("-g",), ("-g3", "-gz"), ("-Wl,-z,separate-code",), ("-Wl,--hash-style=sysv",)])
def test_what_is_mapped_stays_byte_for_byte(
    flags: tuple[str, ...], compile_library: Callable[..., bytes], contents: Contents, tmp_path: Path
) -> None:
    old = compile_library(*flags)
    new = strip(old, contents, tmp_path)
    (tmp_path / "old").write_bytes(old)
    (tmp_path / "new").write_bytes(new)
    with (tmp_path / "old").open("rb") as old_file, (tmp_path / "new").open("rb") as new_file:
        before, after = read_elf(ByteSource(old_file.fileno())), read_elf(ByteSource(new_file.fileno()))
    assert before
    assert after
    assert len(new) < len(old) - 4096
    assert before.segments == after.segments
    assert all(old[part.offset : part.end] == new[part.offset : part.end] for part in before.segments if part.offset)
    names = {section.name for section in after.sections}
    assert {section.name for section in before.sections} - names >= {".symtab", ".strtab"}
    assert not [name for name in names if name.startswith(".debug")]
    assert {".dynsym", ".dynstr", ".comment", ".shstrtab"} <= names
    assert ctypes.CDLL(str(tmp_path / "new")).answer(2) == ctypes.CDLL(str(tmp_path / "old")).answer(2) == 89701


def test_stripped_library_is_told_with_the_first_rule_that_names_it(
    compile_library: Callable[..., bytes], contents: Contents, tmp_path: Path
) -> None:
    data = compile_library("-g")
    rootfs = make_rootfs(contents, {LIBRARY: ("wheel:pkg", data), f"{SITE}/small.so": ("wheel:pkg", b"no ELF")})
    rules = [StripRule(rule=name, owners=(owner,), keep=(), why="") for name, owner in
             (("debs", "deb:*"), ("wheels", "wheel:*"), ("all", "**"))]  # fmt: skip
    stripped = strip_symbols(rootfs, rules, contents, tmp_path / "cache")
    after_bytes = stripped.rootfs.entries[LIBRARY].size_bytes
    assert 0 < after_bytes < len(data) - 4096
    assert stripped.files == (
        StrippedFile(
            path=LIBRARY, owner="wheel:pkg", rule="wheels", before_bytes=len(data), after_bytes=after_bytes
        ),
    )  # fmt: skip


@pytest.mark.skipif(not shutil.which("readelf"), reason="binutils are not installed")
def test_readelf_and_binutils_strip_agree(
    compile_library: Callable[..., bytes], contents: Contents, tmp_path: Path
) -> None:
    old, ours, theirs = tmp_path / "old.so", tmp_path / "ours.so", tmp_path / "theirs.so"
    old.write_bytes(compile_library("-g"))
    ours.write_bytes(strip(old.read_bytes(), contents, tmp_path))
    subprocess.run(["strip", "--strip-unneeded", "-o", theirs, old], check=True)

    def read_with(*options: str) -> list[str]:
        done = [subprocess.run(["readelf", "-W", *options, path], check=True, capture_output=True, text=True)
                for path in (ours, theirs)]  # fmt: skip
        assert not done[0].stderr
        return [one.stdout for one in done]

    for options in (("-l", "-d", "-r", "--dyn-syms", "-V", "-n"), ("-p", ".comment")):
        mine, other = read_with(*options)
        assert mine == other
    assert abs(ours.stat().st_size - theirs.stat().st_size) < 512


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data + b"PK\x03\x04 a zip at the end",
        lambda data: data[:100],
        lambda data: data[:-70],
        lambda _: b"not an ELF file" * 9,
        lambda _: b"",
        lambda data: data[:18] + b"\xb7" + data[19:],  # another machine
    ],
    ids=["appended", "headers-cut", "end-cut", "text", "empty", "aarch64"],
)
def test_what_is_unusual_is_left_alone(
    damage: Callable[[bytes], bytes], compile_library: Callable[..., bytes], contents: Contents, tmp_path: Path
) -> None:
    data = damage(compile_library())
    assert strip(data, contents, tmp_path) == data


def test_kept_relocations_against_the_table_keep_it(
    compile_library: Callable[..., bytes], contents: Contents, tmp_path: Path
) -> None:
    data = compile_library("-Wl,--emit-relocs")
    assert strip(data, contents, tmp_path) == data


def test_stripping_twice_changes_nothing_more(
    compile_library: Callable[..., bytes], contents: Contents, tmp_path: Path
) -> None:
    once = strip(compile_library("-g"), contents, tmp_path)
    assert strip(once, contents, tmp_path) == once


def test_record_has_the_new_hash_and_size(
    compile_library: Callable[..., bytes], contents: Contents, tmp_path: Path
) -> None:
    tree = strip_tree(compile_library(), contents, tmp_path).rootfs
    library = contents.read_bytes(tree.entries[LIBRARY].sha256)
    digest = base64.urlsafe_b64encode(hashlib.sha256(library).digest()).decode().rstrip("=")
    assert contents.read_bytes(tree.entries[RECORD].sha256).decode() == (
        "pkg/__init__.py,sha256=abc,3\r\n"
        f"pkg/answer.cpython-311-x86_64-linux-gnu.so,sha256={digest},{len(library)}\r\n"
        "pkg-1.0.dist-info/RECORD,,\r\n"
    )
    assert tree.entries[LIBRARY].size_bytes == len(library)


@pytest.mark.parametrize(
    "rule",
    [
        StripRule(rule="symbols", owners=("deb:*",), keep=(), why="other owners"),
        StripRule(rule="symbols", owners=("wheel:*",), keep=("**/answer*.so",), why="kept"),
    ],
    ids=["owners", "keep"],
)
def test_rule_decides_which_libraries(
    rule: StripRule, compile_library: Callable[..., bytes], contents: Contents, tmp_path: Path
) -> None:
    data = compile_library()
    assert strip(data, contents, tmp_path, rule) == data


def test_without_rules_the_tree_is_the_same_one(contents: Contents, tmp_path: Path) -> None:
    rootfs = make_rootfs(contents, {LIBRARY: ("wheel:pkg", b"x")})
    assert strip_symbols(rootfs, (), contents, tmp_path) == Stripped(rootfs=rootfs)


def test_result_is_remembered_and_made_again_when_it_is_gone(
    compile_library: Callable[..., bytes], contents: Contents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = compile_library()
    first = strip_tree(data, contents, tmp_path)
    new = first.rootfs.entries[LIBRARY].sha256
    inode = contents.path_of(new).stat().st_ino
    with monkeypatch.context() as patch:
        patch.setattr(Contents, "put", None)
        assert strip_tree(data, contents, tmp_path) == first
    assert contents.path_of(new).stat().st_ino == inode
    contents.discard(new)
    assert strip_tree(data, contents, tmp_path) == first
    assert contents.holds(new, first.rootfs.entries[LIBRARY].size_bytes)


def test_damaged_library_is_named_and_nothing_is_made_of_it(
    compile_library: Callable[..., bytes], contents: Contents, tmp_path: Path
) -> None:
    sha256, _ = contents.put_bytes(compile_library())
    flip_byte(contents.path_of(sha256), 5000)
    with pytest.raises(IntegrityError, match=sha256) as caught:
        strip_tree(compile_library(), contents, tmp_path)
    assert caught.value.sha256 == sha256
    assert not (tmp_path / "cache").exists()


def test_symbols_before_mapped_bytes_stay(compile_library: Callable[..., bytes], tmp_path: Path) -> None:
    """As patchelf leaves it: a segment at the end of the file, behind the tables."""
    (tmp_path / "a.so").write_bytes(compile_library())
    with (tmp_path / "a.so").open("rb") as file:
        elf = read_elf(ByteSource(file.fileno()))
        assert elf
        assert plan_strip(elf)
        behind = replace(elf.segments[-1], kind=1, offset=elf.source.size_bytes - 16, file_bytes=16)
        assert plan_strip(replace(elf, segments=(*elf.segments, behind))) is None
