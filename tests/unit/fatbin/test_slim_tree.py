"""Trees: every fat file once, links kept, lists of installers true, nothing half-done."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import os
import shutil
from pathlib import Path

import pytest

from rockiln.console import Console
from rockiln.errors import DiskError, UsageError
from rockiln.fatbin.slim_tree import SlimOptions, SlimReport, slim_copy, slim_in_place
from rockiln.fatbin.write_cut import partial_path

GFX942 = SlimOptions(archs=frozenset({"gfx942"}), jobs=2)
SILENT = Console(None)
WHEEL = "pkg-1.0.dist-info"


def outcomes(report: SlimReport) -> dict[str, str]:
    return {str(one.path.relative_to(report.output_path)): one.outcome for one in report.files}


def record_row(path: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    return f"{path},sha256={digest},{len(content)}"


@pytest.fixture
def rootfs(tmp_path: Path, built: Path) -> Path:
    """A small root file system: a wheel in /opt/venv, a deb's library behind /lib, a hard link, a symlink, a text."""
    root = tmp_path / "rootfs"
    site, multiarch = root / "opt/venv/lib/python3.12/site-packages", root / "usr/lib/x86_64-linux-gnu"
    for folder in (site / "pkg", site / WHEEL, multiarch, root / "var/lib/dpkg/info"):
        folder.mkdir(parents=True)
    fat = built.read_bytes()
    for path in (site / "pkg/libfat.so", multiarch / "libdeb.so.1.0"):
        path.write_bytes(fat)
    (site / "pkg/libagain.so").hardlink_to(site / "pkg/libfat.so")
    (multiarch / "libdeb.so.1").symlink_to("libdeb.so.1.0")
    (root / "lib").symlink_to("usr/lib")
    (site / "pkg/quote,\"d.py").write_text("x = 1\n")
    rows = ["pkg/libfat.so", "pkg/libagain.so", '"pkg/quote,""d.py"']
    lines = [record_row(row, fat) for row in rows[:2]]
    lines += [record_row(rows[2], b"x = 1\n"), f"{WHEEL}/RECORD,,"]
    (site / WHEEL / "RECORD").write_bytes("\r\n".join([*lines, ""]).encode())
    md5 = hashlib.md5(fat).hexdigest()  # noqa: S324 - dpkg's own
    lists = f"{'0' * 32}  usr/share/doc/x\n{md5}  lib/x86_64-linux-gnu/libdeb.so.1.0\n"
    (root / "var/lib/dpkg/info/libdeb1:amd64.md5sums").write_text(lists)
    return root


SITE = "opt/venv/lib/python3.12/site-packages"
LIBRARY = f"{SITE}/pkg/libfat.so"
DEB = "usr/lib/x86_64-linux-gnu/libdeb.so.1.0"


def require_true_lists(root: Path) -> None:
    """RECORD and md5sums say what is there, and their other lines are as they were."""
    content = (root / LIBRARY).read_bytes()
    record = (root / SITE / WHEEL / "RECORD").read_bytes().decode().split("\r\n")
    assert record[0] == record_row("pkg/libfat.so", content)
    assert record[1] == record_row("pkg/libagain.so", content)
    assert record[2] == record_row('"pkg/quote,""d.py"', b"x = 1\n")
    assert record[3:] == [f"{WHEEL}/RECORD,,", ""]
    md5 = hashlib.md5((root / DEB).read_bytes()).hexdigest()  # noqa: S324 - dpkg's own
    assert (root / "var/lib/dpkg/info/libdeb1:amd64.md5sums").read_text() == (
        f"{'0' * 32}  usr/share/doc/x\n{md5}  lib/x86_64-linux-gnu/libdeb.so.1.0\n"
    )


def test_tree_is_slimmed_in_place_and_its_lists_are_true(rootfs: Path, built: Path) -> None:
    report = slim_in_place(rootfs, GFX942, SILENT)
    assert outcomes(report) == {f"{SITE}/pkg/libagain.so": "slimmed", DEB: "slimmed"}
    assert (rootfs / LIBRARY).stat().st_size < built.stat().st_size
    assert (rootfs / LIBRARY).samefile(rootfs / SITE / "pkg/libagain.so")
    assert (rootfs / "usr/lib/x86_64-linux-gnu/libdeb.so.1").is_symlink()
    assert [path.name for path in report.corrected] == ["RECORD", "libdeb1:amd64.md5sums"]
    require_true_lists(rootfs)


def test_second_run_changes_nothing(rootfs: Path) -> None:
    slim_in_place(rootfs, GFX942, SILENT)
    before = {path: path.lstat().st_ctime_ns for path in rootfs.rglob("*")}
    report = slim_in_place(rootfs, GFX942, SILENT)
    assert set(outcomes(report).values()) == {"unchanged"}
    assert report.corrected == ()
    assert {path: path.lstat().st_ctime_ns for path in rootfs.rglob("*")} == before


def test_dry_run_changes_nothing(rootfs: Path) -> None:
    before = {path: path.lstat().st_ctime_ns for path in rootfs.rglob("*")}
    report = slim_in_place(rootfs, SlimOptions(archs=GFX942.archs, jobs=1, is_dry_run=True), SILENT)
    assert report.freed_bytes > 0
    assert {path: path.lstat().st_ctime_ns for path in rootfs.rglob("*")} == before


def test_copy_leaves_the_original_alone(rootfs: Path, built: Path, tmp_path: Path) -> None:
    (rootfs / "fifo-like").write_text("x")
    (rootfs / "opt").chmod(0o750)
    report = slim_copy(rootfs, tmp_path / "copy", GFX942, SILENT)
    assert (rootfs / LIBRARY).read_bytes() == built.read_bytes()
    assert sorted(path.relative_to(rootfs) for path in rootfs.rglob("*")) == sorted(
        path.relative_to(tmp_path / "copy") for path in (tmp_path / "copy").rglob("*")
    )
    assert outcomes(report) == {f"{SITE}/pkg/libagain.so": "slimmed", DEB: "slimmed"}
    assert (tmp_path / "copy/opt").stat().st_mode & 0o7777 == 0o750
    require_true_lists(tmp_path / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "rootfs"]


def test_copy_and_in_place_give_the_same_bytes(rootfs: Path, tmp_path: Path) -> None:
    slim_copy(rootfs, tmp_path / "copy", GFX942, SILENT)
    slim_in_place(rootfs, GFX942, SILENT)
    for path in rootfs.rglob("*"):
        if path.is_file():
            assert (tmp_path / "copy" / path.relative_to(rootfs)).read_bytes() == path.read_bytes()


def test_part_of_a_tree_finds_the_lists_above_it(rootfs: Path) -> None:
    slim_in_place(rootfs / SITE / "pkg", GFX942, SILENT)
    report = slim_in_place(rootfs / DEB, GFX942, SILENT)
    assert [one.outcome for one in report.files] == ["slimmed"]
    require_true_lists(rootfs)


def test_record_without_hash_keeps_its_gaps(rootfs: Path) -> None:
    record = rootfs / SITE / WHEEL / "RECORD"
    record.write_text("pkg/libfat.so,,12345\npkg/libagain.so,,\n")
    slim_in_place(rootfs, GFX942, SILENT)
    assert record.read_text() == f"pkg/libfat.so,,{(rootfs / LIBRARY).stat().st_size}\npkg/libagain.so,,\n"


def test_single_file_is_copied_slim(built: Path, tmp_path: Path) -> None:
    report = slim_copy(built, tmp_path / "new" / "slim.so", GFX942, SILENT)
    assert [one.outcome for one in report.files] == ["slimmed"]
    assert (tmp_path / "new/slim.so").stat().st_size == report.files[0].after_bytes
    refused = slim_copy(built, tmp_path / "same.so", SlimOptions(archs=frozenset({"gfx908"}), jobs=1), SILENT)
    assert [one.outcome for one in refused.files] == ["refused"]
    assert (tmp_path / "same.so").read_bytes() == built.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "same.so"]


def test_tree_without_device_code_is_untouched(tmp_path: Path, recorder: Path) -> None:
    shutil.copy(recorder, tmp_path / "plain.so")
    report = slim_in_place(tmp_path, GFX942, SILENT)
    assert (report.elf_files, report.files, report.corrected) == (1, (), ())


def test_path_that_cannot_be_is_a_usage_error(tmp_path: Path, built: Path) -> None:
    with pytest.raises(UsageError, match="is no file or folder"):
        slim_in_place(tmp_path / "nothing", GFX942, SILENT)
    with pytest.raises(UsageError, match="is no file or folder"):
        slim_copy(tmp_path / "nothing", tmp_path / "copy", GFX942, SILENT)
    with pytest.raises(UsageError, match="exists"):
        slim_copy(built, built, GFX942, SILENT)
    with pytest.raises(UsageError, match="is inside"):
        slim_copy(tmp_path, tmp_path / "inside", GFX942, SILENT)


def test_interrupted_run_keeps_lists_true(rootfs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rockiln.fatbin import slim_tree

    real = slim_tree.slim_file

    def stop_at_the_deb(path: Path, *args: object, **options: object) -> object:
        if path.name.startswith("libdeb"):
            raise KeyboardInterrupt
        return real(path, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(slim_tree, "slim_file", stop_at_the_deb)
    with pytest.raises(KeyboardInterrupt):
        slim_in_place(rootfs, SlimOptions(archs=GFX942.archs, jobs=1), SILENT)
    require_true_lists(rootfs)


def test_leftovers_of_a_killed_process_go_and_those_in_use_stay(rootfs: Path, built: Path) -> None:
    left = partial_path(rootfs / "opt/old.so")
    used = partial_path(rootfs / "opt/used.so")
    for path in (left, used):
        shutil.copy(built, path)
    with used.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        report = slim_in_place(rootfs, GFX942, SILENT)
    assert not left.exists()
    assert used.exists()
    assert len(report.files) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_that_cannot_be_written_is_a_disk_error(rootfs: Path) -> None:
    (rootfs / LIBRARY).parent.chmod(0o555)
    with pytest.raises(DiskError):
        slim_in_place(rootfs, GFX942, SILENT)
    (rootfs / LIBRARY).parent.chmod(0o755)
