"""rockiln slim on the command line: no project, results for people and as JSON, clear errors."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rockiln.cli import main


@pytest.fixture
def site(tmp_path: Path, built: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a fat file, and no matrix.toml anywhere near."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site").mkdir()
    shutil.copy(built, tmp_path / "site" / "libfat.so")
    return tmp_path / "site"


def test_table_tells_sizes_and_what_was_kept(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["slim", str(site), "--archs", "gfx942,gfx950", "--jobs", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["file", "before", "after", "result"]
    assert lines[1].split()[0] == "libfat.so"
    assert lines[1].endswith("keeps gfx942; it never held gfx950")
    assert lines[3].startswith("1 of 1 files with device code: ")
    assert lines[3].endswith("kB went")


def test_json_is_the_report(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["slim", "site", "--archs", "gfx942", "--dry-run", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    (file,) = report["files"]
    assert (file["outcome"], list(file["kept"])) == ("slimmed", ["gfx942"])
    assert set(file["dropped"]) == {"gfx90a:xnack+", "gfx90a:xnack-", "gfx1100", "gfx11-generic"}
    assert file["before_bytes"] == (site / "libfat.so").stat().st_size > file["after_bytes"]


def test_refused_file_is_a_row_and_no_error(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["slim", str(site / "libfat.so"), "--archs", "gfx908"]) == 0
    assert "left alone: holds no code for any of the archs" in capsys.readouterr().out


def test_output_is_a_copy(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["slim", "site", "--archs", "gfx942", "--output", "copy"]) == 0
    assert (site.parent / "copy/libfat.so").stat().st_size < (site / "libfat.so").stat().st_size
    assert capsys.readouterr().out.splitlines()[1].startswith("libfat.so ")
    assert main(["slim", "site", "--archs", "gfx942", "--output", "copy"]) == 2


def test_tree_without_device_code_is_said_to_be_unchanged(
    site: Path, recorder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (site / "libfat.so").unlink()
    shutil.copy(recorder, site)
    assert main(["slim", "site", "--archs", "gfx942"]) == 0
    assert capsys.readouterr().out == (
        f"{site}: none of 1 ELF files holds device code, and there is no other kernel data; nothing was changed\n"
    )


@pytest.mark.parametrize(
    ("archs", "told"),
    [
        ("gfx943", "'gfx943' is no arch; did you mean \"gfx942\"?"),
        ("GFX942", "'GFX942' is no arch; did you mean \"gfx942\"?"),
        ("gfx942,mi300", "'mi300' is no arch"),
        ("gfx90a:xnack+", "name gfx90a: code for each of its features is kept"),
        (",", "--archs names no GPU"),
    ],
)
def test_wrong_arch_is_a_usage_error(site: Path, capsys: pytest.CaptureFixture[str], archs: str, told: str) -> None:
    before = (site / "libfat.so").read_bytes()
    assert main(["slim", "site", "--archs", archs]) == 2
    assert told in capsys.readouterr().err
    assert (site / "libfat.so").read_bytes() == before


@pytest.mark.parametrize("name", ["x.co", "gfx90a.hsaco", "x.kdb", "y.hipfb", "z.hsaco.zst"])
def test_name_of_kernel_data_with_content_of_none_is_a_row(
    site: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (site / name).write_bytes(b"\x93 random")
    for path in (site, site / name):
        assert main(["slim", str(path), "--archs", "gfx942", "--dry-run"]) == 0
        row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith(f"{name} "))
        assert row.endswith("left alone: holds no code that is understood")


def test_database_outside_of_known_folders_is_a_row(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "x.kdb").write_bytes(b"SQLite format 3\0")
    assert main(["slim", str(site / "x.kdb"), "--archs", "gfx942"]) == 0
    assert "left alone: a database in no folder that is known" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "content"),
    [("x.whl", b""), ("x.tar.zst", b""), ("x.deb", b""), ("x", b"PK\x03\x04"), ("y", b"!<arch>\ndebian-binary ")],
)
@pytest.mark.parametrize("options", [(), ("--output", "copy")], ids=["in place", "copy"])
def test_archive_is_a_row_that_says_what_to_do(
    site: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes, options: tuple[str, ...]
) -> None:
    (site / name).write_bytes(content)
    assert main(["slim", str(site / name), "--archs", "gfx942", *options]) == 0
    assert capsys.readouterr().out.endswith("left alone: is an archive: unpack it first\n\nno file was changed\n")
    assert (site.parent / "copy" if options else site / name).read_bytes() == content


def test_folder_of_archives_says_that_they_were_not_looked_into(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "libfat.so").unlink()
    (site / "x.whl").touch()
    assert main(["slim", "site", "--archs", "gfx942"]) == 0
    assert capsys.readouterr().out == (
        f"{site}: there is no ELF file, and there is no other kernel data; not looked into, unpack first:"
        " 1 archive; nothing was changed\n"
    )


def test_path_that_is_not_there_has_a_hint(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["slim", "siet/lib", "--archs", "gfx942"]) == 2
    assert f'hint: {site.parent} holds no siet; did you mean "site"?' in capsys.readouterr().err
    assert main(["slim", "site/libfat.so/x", "--archs", "gfx942"]) == 2
    assert "libfat.so holds no x: Not a directory" in capsys.readouterr().err


def test_interrupted_slim_says_what_is_true_of_its_files(
    site: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rockiln.fatbin import slim_tree

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(slim_tree, "judge_files", interrupt)
    assert main(["slim", str(site), "--archs", "gfx942"]) == 130
    told = capsys.readouterr().err
    assert "download" not in told
    assert "each file is the old one or the new one" in told


def test_full_disk_of_a_copy_does_not_name_the_cache(
    site: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno
    import os

    from rockiln.fatbin import slim_tree

    def fill(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(slim_tree, "copy_file", fill)
    assert main(["slim", str(site), "--archs", "gfx942", "--output", "copy"]) == 16
    told = capsys.readouterr().err
    assert "copy: the disk is full" in told
    assert "ROCKILN_CACHE" not in told
    assert "--output PATH" in told


def test_result_that_cannot_be_written_is_told_as_that(site: Path) -> None:
    command = [sys.executable, "-m", "rockiln", "slim", str(site), "--archs", "gfx942", "--dry-run"]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 16
    assert ended.stderr == (
        "rockiln: error: the result could not be written to standard output: No space left on device\n"
        "hint: make room where the output goes, or send it elsewhere\n"
    )


def test_other_verbs_still_need_a_project(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert site.is_dir()
    assert main(["plan"]) == 2
    assert "no matrix.toml" in capsys.readouterr().err
