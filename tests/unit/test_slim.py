"""Drop rules: what they name, what they keep, and that lists of files stay true."""

from __future__ import annotations

import sys
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from imaging import Item, make_drop, make_rootfs

from rockiln.contents import Contents
from rockiln.rootfs import Rootfs
from rockiln.slim import compile_globs, drop_paths

SITE = "opt/venv/lib/python3.11/site-packages"


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return Contents(tmp_path / "contents")


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("usr/share/doc/**", "usr/share/doc/bash/README", True),
        ("usr/share/doc/**", "usr/share/doc", False),
        ("usr/share/doc/**", "usr/share/docs/a", False),
        ("usr/share/*/x", "usr/share/a/x", True),
        ("usr/share/*/x", "usr/share/a/b/x", False),
        ("usr/share/*/x", "usr/share//x", False),
        ("**/tests/**", "opt/venv/scipy/tests/data/a.npy", True),
        ("**/tests/**", "tests/a", True),
        ("**/tests/**", "opt/mytests/a", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/**/b", "a/b", True),
        ("**/**", "a", True),
        ("**/**", "a/b", True),
        ("*.a", "lib.a", True),
        ("*.a", "usr/lib.a", False),
        ("**/*.a", "usr/lib/libc.a", True),
        ("lib?.so", "libm.so", True),
        ("lib?.so", "lib/.so", False),
        ("man[1-8]", "man3", True),
        ("man[!1-8]", "man3", False),
        ("man[!1-8]", "man9", True),
        ("x[]a]", "x]", True),
        ("a+b(c)", "a+b(c)", True),
        ("a.b", "axb", False),
        ("**", "any/thing", True),
        ("/usr/x", "usr/x", True),
        (".hidden/*", ".hidden/.file", True),
    ],
)
def test_globs(glob: str, path: str, matches: bool) -> None:  # a table
    assert bool(compile_globs([glob]).fullmatch(path)) is matches


@pytest.mark.skipif(sys.version_info < (3, 13), reason="pathlib has full_match since Python 3.13")
@given(
    st.lists(st.sampled_from(["**", "*", "a", "b?", "*b", "[ab]c", "x*y"]), min_size=1, max_size=4),
    st.lists(st.sampled_from(["a", "b", "ab", "bb", "ac", "xzy"]), min_size=1, max_size=4),
)
def test_globs_agree_with_pathlib(parts: list[str], names: list[str]) -> None:
    glob, path = "/".join(parts), "/".join(names)
    theirs = PurePosixPath(path).full_match(glob)  # type: ignore[attr-defined]
    assert bool(compile_globs([glob]).fullmatch(path)) is theirs


DOCS: dict[str, Item] = {
    "usr/share/doc/bash/README": ("deb:bash", b"read me"),
    "usr/share/doc/bash/copyright": ("deb:bash", b"GPL"),
    "usr/share/doc/empty/README": ("deb:bash", b"x"),
    "usr/bin/bash": ("deb:bash", b"bash"),
}


def dropped_paths(rootfs: Rootfs) -> list[str]:
    return [gone.path for gone in rootfs.dropped]


def test_rule_drops_files_and_the_folders_it_empties(contents: Contents) -> None:
    rule = make_drop("usr/share/doc/**", keep=("usr/share/doc/*/copyright",))
    slimmed = drop_paths(make_rootfs(contents, DOCS), (rule,), contents)
    assert dropped_paths(slimmed) == [
        "usr/share/doc/bash/README", "usr/share/doc/empty", "usr/share/doc/empty/README",
    ]  # fmt: skip
    assert slimmed.dropped[0].rule == "docs"
    assert slimmed.dropped[0].owner == "deb:bash"
    assert slimmed.dropped[0].size_bytes == 7
    assert "usr/share/doc/bash" in slimmed.entries


def test_kept_folder_stays_though_empty(contents: Contents) -> None:
    rule = make_drop("usr/share/doc/**", keep=("usr/share/doc/empty",))
    slimmed = drop_paths(make_rootfs(contents, DOCS), (rule,), contents)
    assert "usr/share/doc/empty" in slimmed.entries
    assert "usr/share/doc/bash" not in slimmed.entries


def test_emptied_folder_goes_and_one_that_was_empty_stays(contents: Contents) -> None:
    items: dict[str, Item] = {**DOCS, "srv": ("deb:base-files", "")}
    slimmed = drop_paths(make_rootfs(contents, items), (make_drop("usr/share/doc/*/*"),), contents)
    assert not [path for path in slimmed.entries if path.startswith("usr/share")]
    assert "srv" in slimmed.entries


def test_every_parent_is_still_there(contents: Contents) -> None:
    slimmed = drop_paths(make_rootfs(contents, DOCS), (make_drop("**", keep=("usr/bin/bash",)),), contents)
    assert list(slimmed.entries) == ["usr", "usr/bin", "usr/bin/bash"]


def test_rule_for_wheels_leaves_debs_alone(contents: Contents) -> None:
    items: dict[str, Item] = {"a/tests/x": ("deb:a", b"1"), "b/tests/x": ("wheel:b", b"2")}
    slimmed = drop_paths(make_rootfs(contents, items), (make_drop("**/tests/**", owners=("wheel:*",)),), contents)
    assert "a/tests/x" in slimmed.entries
    assert "b/tests/x" not in slimmed.entries


def test_first_rule_that_does_not_keep_a_path_gets_it(contents: Contents) -> None:
    rules = (make_drop("usr/**", rule="first", keep=("**/copyright",)), make_drop("**/copyright", rule="second"))
    slimmed = drop_paths(make_rootfs(contents, DOCS), rules, contents)
    by_path = {gone.path: gone.rule for gone in slimmed.dropped}
    assert by_path["usr/share/doc/bash/copyright"] == "second"
    assert by_path["usr/bin/bash"] == "first"


def test_without_a_match_the_tree_is_the_same_one(contents: Contents) -> None:
    rootfs = make_rootfs(contents, DOCS)
    assert drop_paths(rootfs, (make_drop("nothing/**"),), contents) is rootfs
    assert drop_paths(rootfs, (), contents) is rootfs


def test_byte_code_goes_with_its_source(contents: Contents) -> None:
    items: dict[str, Item] = {
        "m/a.py": ("wheel:m", b"a"), "m/b.py": ("wheel:m", b"b"),
        "m/__pycache__/a.cpython-311.pyc": ("wheel:m", b"ac"), "m/__pycache__/b.cpython-311.pyc": ("wheel:m", b"bc"),
        "n/a.py": ("wheel:m", b"n"), "n/__pycache__/a.cpython-311.pyc": ("wheel:m", b"nc"),
    }  # fmt: skip
    slimmed = drop_paths(make_rootfs(contents, items), (make_drop("m/a.py", "n/*.py"),), contents)
    assert dropped_paths(slimmed) == [
        "m/__pycache__/a.cpython-311.pyc", "m/a.py",
        "n", "n/__pycache__", "n/__pycache__/a.cpython-311.pyc", "n/a.py",
    ]  # fmt: skip


def test_hardlinks_outlive_the_file_they_link(contents: Contents) -> None:
    items: dict[str, Item] = {
        "doc/a": ("deb:a", b"data"), "usr/b": ("deb:a", "=> doc/a"), "usr/c": ("deb:a", "=> doc/a"),
    }  # fmt: skip
    rootfs = make_rootfs(contents, items)
    slimmed = drop_paths(rootfs, (make_drop("doc/**"),), contents)
    assert slimmed.entries["usr/b"].kind == "file"
    assert slimmed.entries["usr/b"].sha256 == rootfs.entries["doc/a"].sha256
    assert (slimmed.entries["usr/c"].kind, slimmed.entries["usr/c"].link) == ("hardlink", "usr/b")


def test_record_names_only_what_is_left(contents: Contents) -> None:
    long = f"{'x' * 140_000}\u2028.py,,\r\n".encode()
    record = (
        b"scipy/__init__.py,sha256=abc,1\r\n" + long + b'"scipy/tests/odd,name.py",sha256=def,2\r\n'
        b"scipy/tests/test_a.py,sha256=ghi,3\r\n"
        b"../../../bin/f2py,sha256=jkl,4\r\n"
        b"scipy-1.0.dist-info/RECORD,,\r\n"
    )
    items: dict[str, Item] = {
        f"{SITE}/scipy/__init__.py": ("wheel:scipy", b"1"), f"{SITE}/scipy/tests/odd,name.py": ("wheel:scipy", b"22"),
        f"{SITE}/scipy/tests/test_a.py": ("wheel:scipy", b"333"), "opt/venv/bin/f2py": ("wheel:scipy", b"4444"),
        f"{SITE}/scipy-1.0.dist-info/RECORD": ("wheel:scipy", record),
    }  # fmt: skip
    rules = (make_drop("**/tests/**", owners=("wheel:*",)), make_drop("opt/venv/bin/f2py"))
    slimmed = drop_paths(make_rootfs(contents, items), rules, contents)
    entry = slimmed.entries[f"{SITE}/scipy-1.0.dist-info/RECORD"]
    left = contents.read_bytes(entry.sha256)
    assert left == b"scipy/__init__.py,sha256=abc,1\r\n" + long + b"scipy-1.0.dist-info/RECORD,,\r\n"
    assert entry.size_bytes == len(left)


def test_dpkg_lists_name_only_what_is_left(contents: Contents) -> None:
    info = "var/lib/dpkg/info"
    items: dict[str, Item] = {
        **DOCS,
        "bin": ("rockiln", "-> usr/bin"),
        "usr/bin/old": ("deb:bash", b"old"),
        f"{info}/bash.list": (
            "deb:bash", b"/.\n/bin\n/bin/bash\n/bin/old\n/usr/share/doc/bash/README\n/usr/share/doc/empty\n",
        ),
        f"{info}/libc6:amd64.md5sums": ("deb:libc6", b"0" * 32 + b"  usr/lib/libc.so\n"),
        f"{info}/bash.md5sums": (
            "deb:bash",
            b"1" * 32 + b"  bin/bash\n" + b"2" * 32 + b"  bin/old\n" + b"3" * 32 + b"  usr/share/doc/bash/README\n",
        ),
    }  # fmt: skip
    rootfs = make_rootfs(contents, items)
    slimmed = drop_paths(rootfs, (make_drop("usr/share/doc/**", "usr/bin/old"),), contents)
    lists = {path: contents.read_bytes(entry.sha256) for path, entry in slimmed.entries.items() if info + "/" in path}
    assert lists[f"{info}/bash.list"] == b"/.\n/bin\n/bin/bash\n"
    assert lists[f"{info}/bash.md5sums"] == b"1" * 32 + b"  bin/bash\n"
    assert slimmed.entries[f"{info}/libc6:amd64.md5sums"] is rootfs.entries[f"{info}/libc6:amd64.md5sums"]


def test_twenty_five_thousand_paths_and_twenty_globs_take_under_a_second(contents: Contents) -> None:
    import time

    rootfs = make_rootfs(contents, {"a": ("deb:a", b"x")})
    file = rootfs.entries["a"]
    many = {f"opt/venv/d{n % 100}/e{n % 7}/file{n}.py": file for n in range(25_000)}
    entries = {path: entry._replace(path=path) for path, entry in many.items()}
    rules = tuple(make_drop(f"**/nothing{n}/**", f"usr/share/x{n}/**") for n in range(10))
    start_s = time.process_time()
    drop_paths(Rootfs(entries=entries, owners={}), (*rules, make_drop("**/*999.py")), contents)
    assert time.process_time() - start_s < 1
