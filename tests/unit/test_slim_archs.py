"""A build's tree for its archs: the same rules as rockiln slim, results remembered, a row for each file."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import pytest
from imaging import make_rootfs

from fat_files import FatLibrary, bundle_for, compile_kernels
from rockiln import slim_archs as module
from rockiln.console import Console
from rockiln.contents import Contents
from rockiln.errors import IntegrityError
from rockiln.rootfs import Rootfs
from rockiln.slim_archs import OTHER_ARCHS, Slimmed, slim_archs

SITE = "opt/venv/lib/python3.12/site-packages"
LIBRARY = f"{SITE}/pkg/libfat.so"
FOLDER = "opt/rocm-7.0.2/lib/rocblas/library"
MD5SUMS = "var/lib/dpkg/info/rocblas.md5sums"


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return Contents(tmp_path / "contents")


@pytest.fixture(scope="module")
def fat(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    library = FatLibrary(bundles=[bundle_for(("gfx90a", "gfx942", "gfx1100"))], linker="lld")
    return library.build(tmp_path_factory.mktemp("fat") / "libfat.so").read_bytes()


LONG_ROW = f"{'x' * 140_000}\u2028.py,,\n"


@pytest.fixture
def rootfs(contents: Contents, fat: bytes) -> Rootfs:
    """A wheel with a fat library, and a deb with kernel data and a bundle."""
    data = {
        "Kernels.so-000-gfx90a.hsaco": compile_kernels("gfx90a"),
        "Kernels.so-000-gfx942.hsaco": compile_kernels("gfx942"),
        "TensileLibrary_Type_HH_fallback.dat": b"fallback",
        "hipblasltTransform.hsaco": bundle_for(("gfx90a", "gfx942")),
    }
    sums = "".join(f"{hashlib.md5(text).hexdigest()}  {FOLDER}/{name}\n" for name, text in data.items())  # noqa: S324 - dpkg's own
    files = {f"{FOLDER}/{name}": ("deb:rocblas", text) for name, text in data.items()}
    return make_rootfs(contents, {
        LIBRARY: ("wheel:pkg", fat),
        f"{SITE}/pkg-1.0.dist-info/RECORD": ("wheel:pkg", f"pkg/libfat.so,sha256=old,1\n{LONG_ROW}".encode()),
        f"{SITE}/pkg/text.py": ("wheel:pkg", b"x = 1\n"),
        **files,
        f"{FOLDER}/old/Kernels.so-000-gfx1100.hsaco": ("deb:rocblas", compile_kernels("gfx1100")),
        f"{FOLDER}/kernels.hsaco": ("deb:rocblas", "-> Kernels.so-000-gfx90a.hsaco"),
        f"{FOLDER}/kept.hsaco": ("deb:rocblas", f"-> /{FOLDER}/Kernels.so-000-gfx942.hsaco"),
        "usr/lib/again.so": ("deb:rocblas", f"=> {LIBRARY}"),
        MD5SUMS: ("deb:rocblas", f"{sums}{'0' * 32}  usr/lib/again.so\n".encode()),
    })  # fmt: skip


def slim(rootfs: Rootfs, contents: Contents, tmp_path: Path, *archs: str) -> Slimmed:
    return slim_archs(rootfs, archs, contents, tmp_path / "cache", 2, Console(None))


def test_tree_holds_its_archs_only(rootfs: Rootfs, contents: Contents, tmp_path: Path, fat: bytes) -> None:
    slimmed = slim(rootfs, contents, tmp_path, "gfx942")
    rows = {row.path.rpartition("/")[2]: row for row in slimmed.files}
    assert {name: row.outcome for name, row in rows.items()} == {
        "libfat.so": "slimmed", "hipblasltTransform.hsaco": "slimmed", "Kernels.so-000-gfx90a.hsaco": "dropped",
        "Kernels.so-000-gfx942.hsaco": "unchanged", "TensileLibrary_Type_HH_fallback.dat": "unchanged",
        "Kernels.so-000-gfx1100.hsaco": "dropped",
    }  # fmt: skip
    assert set(rows["libfat.so"].dropped) == {"gfx90a", "gfx1100"}
    assert (rows["libfat.so"].rule, rows["hipblasltTransform.hsaco"].rule) == ("fat-binary", "rocblas")
    entries = slimmed.rootfs.entries
    assert entries[LIBRARY].size_bytes == rows["libfat.so"].after_bytes < len(fat)
    assert f"{FOLDER}/old" not in entries, "a folder that is emptied goes"
    assert f"{FOLDER}/kernels.hsaco" not in entries, "so does a link that would lead nowhere"
    assert f"{FOLDER}/kept.hsaco" in entries
    dropped = {one.path: one.rule for one in slimmed.rootfs.dropped}
    assert dropped[f"{FOLDER}/Kernels.so-000-gfx90a.hsaco"] == OTHER_ARCHS


def test_lists_are_true_for_hardlinks_too(rootfs: Rootfs, contents: Contents, tmp_path: Path) -> None:
    entries = slim(rootfs, contents, tmp_path, "gfx942").rootfs.entries
    record = contents.read_bytes(entries[f"{SITE}/pkg-1.0.dist-info/RECORD"].sha256).decode()
    assert next(csv.reader([record.split("\n")[0]]))[2] == str(entries[LIBRARY].size_bytes)
    assert record.endswith(f"\n{LONG_ROW}")
    sums = contents.read_bytes(entries[MD5SUMS].sha256).decode().splitlines()
    listed = {line[34:]: line[:32] for line in sums}
    there = {path for path, entry in entries.items() if path.startswith(f"{FOLDER}/") and entry.kind == "file"}
    assert set(listed) == there | {"usr/lib/again.so"}
    for path, digest in listed.items():
        entry = entries[entries[path].link or path]
        assert hashlib.md5(contents.read_bytes(entry.sha256)).hexdigest() == digest  # noqa: S324 - dpkg's own


def test_target_without_archs_is_left_alone(rootfs: Rootfs, contents: Contents, tmp_path: Path) -> None:
    slimmed = slim(rootfs, contents, tmp_path)
    assert slimmed.rootfs is rootfs
    assert slimmed.files == ()
    assert not (tmp_path / "cache").exists()


def test_cut_is_remembered_for_its_archs(
    rootfs: Rootfs, contents: Contents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = slim(rootfs, contents, tmp_path, "gfx942")
    cuts = []
    real = module.slim_open_file
    monkeypatch.setattr(module, "slim_open_file", lambda *words: cuts.append(words[0].name) or real(*words))
    assert slim(rootfs, contents, tmp_path, "gfx942") == first
    assert cuts == []
    slim(rootfs, contents, tmp_path, "gfx942", "gfx90a")
    assert cuts == ["libfat.so"], "the bundle holds nothing else"
    cuts.clear()
    contents.discard(first.rootfs.entries[LIBRARY].sha256)
    assert slim(rootfs, contents, tmp_path, "gfx942") == first
    assert cuts == ["libfat.so"]
    monkeypatch.setattr(module, "hash_code", lambda: "another version of the cutter")
    slim(rootfs, contents, tmp_path, "gfx942")
    assert len(cuts) == 3


def test_damaged_content_is_told_and_not_cut(rootfs: Rootfs, contents: Contents, tmp_path: Path, fat: bytes) -> None:
    path = contents.path_of(rootfs.entries[LIBRARY].sha256)
    path.chmod(0o755)
    path.write_bytes(fat[:-1] + bytes([fat[-1] ^ 1]))
    with pytest.raises(IntegrityError):
        slim(rootfs, contents, tmp_path, "gfx942")
    assert not list((tmp_path / "cache").rglob(f"{rootfs.entries[LIBRARY].sha256}*"))


def test_refused_file_stays_and_says_why(contents: Contents, tmp_path: Path, fat: bytes) -> None:
    rootfs = make_rootfs(contents, {LIBRARY: ("wheel:pkg", fat)})
    slimmed = slim(rootfs, contents, tmp_path, "gfx1201")
    (row,) = slimmed.files
    assert (row.outcome, row.reason) == ("refused", "holds no code for any of the archs")
    assert slimmed.rootfs.entries == rootfs.entries
