"""Equal files are kept once: hardlinks within an owner, symlinks to where a rule says; libraries load as before."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from imaging import make_rootfs

from rockiln.contents import Contents
from rockiln.rootfs import Rootfs
from rockiln.share_equal import LEAST_BYTES, share_equal
from rockiln.slim_rules import ShareRule

SITE = "opt/venv/lib/python3.12/site-packages"
BIG = b"x" * LEAST_BYTES
IN_WHEEL = ShareRule(rule="in-wheel", paths=(f"{SITE}/**",), keep=(), owners=("wheel:*",), with_paths=(), why="a test")
IN_TORCH = ShareRule(
    rule="in-torch", paths=(f"{SITE}/torch/lib/**",), keep=(), owners=(), with_paths=("opt/rocm-*/lib/**",), why="-"
)


@pytest.fixture
def rootfs(tmp_path: Path) -> Rootfs:
    contents = Contents(tmp_path / "contents")
    return make_rootfs(contents, {
        f"{SITE}/one/a.so": ("wheel:one", BIG),
        f"{SITE}/one/b.so": ("wheel:one", BIG),
        f"{SITE}/one/other.so": ("wheel:one", b"y" * LEAST_BYTES),
        f"{SITE}/one/small-a": ("wheel:one", b"small"),
        f"{SITE}/one/small-b": ("wheel:one", b"small"),
        f"{SITE}/torch/lib/libx.so": ("wheel:torch", BIG),
        "opt/rocm-7.0.2/lib/libx.so.1.2": ("deb:x", BIG),
    })  # fmt: skip


def test_equal_files_of_one_owner_are_one_file(rootfs: Rootfs) -> None:
    shared = share_equal(rootfs, [IN_WHEEL])
    link = shared.rootfs.entries[f"{SITE}/one/b.so"]
    assert (link.kind, link.link, link.size_bytes) == ("hardlink", f"{SITE}/one/a.so", 0)
    assert [(one.path, one.size_bytes, one.rule, one.link) for one in shared.files] == [
        (f"{SITE}/one/b.so", LEAST_BYTES, "in-wheel", f"{SITE}/one/a.so"),
    ]  # fmt: skip
    changed = [path for path, entry in shared.rootfs.entries.items() if entry != rootfs.entries[path]]
    assert changed == [f"{SITE}/one/b.so"]


def test_files_of_other_modes_or_owners_stay_files(rootfs: Rootfs) -> None:
    program = rootfs.entries[f"{SITE}/one/b.so"]._replace(mode=0o755)
    other = replace(rootfs, entries={**rootfs.entries, program.path: program})
    assert share_equal(other, [IN_WHEEL]).files == ()


def test_symlink_leads_to_the_folder_that_the_rule_names(rootfs: Rootfs) -> None:
    shared = share_equal(rootfs, [IN_TORCH])
    link = shared.rootfs.entries[f"{SITE}/torch/lib/libx.so"]
    assert (link.kind, link.link) == ("symlink", "../../../../../../rocm-7.0.2/lib/libx.so.1.2")
    assert [one.path for one in shared.files] == [f"{SITE}/torch/lib/libx.so"]
    assert shared.rootfs.entries["opt/rocm-7.0.2/lib/libx.so.1.2"].kind == "file"


def test_kept_paths_and_files_that_hardlinks_lead_to_stay(rootfs: Rootfs) -> None:
    kept = replace(IN_WHEEL, keep=(f"{SITE}/one/b.so",))
    assert share_equal(rootfs, [kept]).files == ()
    first = rootfs.entries[f"{SITE}/one/b.so"]
    link = first._replace(path="z", kind="hardlink", link=first.path, sha256="", size_bytes=0)
    assert share_equal(replace(rootfs, entries={**rootfs.entries, "z": link}), [IN_WHEEL]).files == ()


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
@pytest.mark.parametrize("kind", ["symlink", "hardlink"])
def test_linked_library_finds_its_neighbours_where_the_link_lies(kind: str, tmp_path: Path) -> None:
    """The loader takes $ORIGIN from the name under which it found a library, and knows one file under two names."""
    rocm, torch = tmp_path / "rocm", tmp_path / "torch"
    for folder, answer in ((rocm, 1), (torch, 2)):
        folder.mkdir()
        build(folder / "libneighbour.so", f"int neighbour(void) {{ return {answer}; }}")
    source = "int neighbour(void); int ask(void) { return neighbour(); } int calls; int count(void) { return ++calls; }"
    build(rocm / "libx.so", source, f"-L{rocm}", "-lneighbour", "-Wl,-rpath,$ORIGIN")
    if kind == "symlink":
        (torch / "libx.so").symlink_to("../rocm/libx.so")
    else:
        (torch / "libx.so").hardlink_to(rocm / "libx.so")
    script = (
        "import ctypes, sys; one = ctypes.CDLL(sys.argv[1]); print(one.ask(), one.count());"
        "print(ctypes.CDLL(sys.argv[2]).count())"
    )
    names = (str(torch / "libx.so"), str(rocm / "libx.so"))
    told = subprocess.run(["python3", "-c", script, *names], capture_output=True, text=True, check=True).stdout
    assert told == "2 1\n2\n"


def build(path: Path, source: str, *flags: str) -> None:
    path.with_suffix(".c").write_text(source)
    command = ["gcc", "-shared", "-fPIC", "-o", str(path), str(path.with_suffix(".c")), *flags]
    subprocess.run(command, check=True)
