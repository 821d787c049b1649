"""rockiln slim on the command line: no project, results for people and as JSON, clear errors."""

from __future__ import annotations

import json
import shutil
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
        ("gfx942,mi300", "'mi300' is no arch"),
        ("gfx90a:xnack+", "name gfx90a: code for each of its features is kept"),
        (",", "--archs names no GPU"),
    ],
)
def test_wrong_arch_is_a_usage_error(
    site: Path, capsys: pytest.CaptureFixture[str], archs: str, told: str
) -> None:
    before = (site / "libfat.so").read_bytes()
    assert main(["slim", "site", "--archs", archs]) == 2
    assert told in capsys.readouterr().err
    assert (site / "libfat.so").read_bytes() == before


def test_other_verbs_still_need_a_project(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert site.is_dir()
    assert main(["plan"]) == 2
    assert "no matrix.toml" in capsys.readouterr().err
