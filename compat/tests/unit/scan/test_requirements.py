"""What pip reads beside a requirements file is read as well, or told as unread; marks and baselines hold for that."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipcompat.scan import Target, scan
from hipcompat.scan.report.text import describe_file
from hipcompat.scan.suppress import read_baseline, write_baseline


def _tell(path: Path) -> list[tuple[str, str, str, int, int]]:
    found = scan(path, Target()).findings
    return [(Path(item.path).name, item.rule, item.detail, item.line, item.column) for item in found]


@pytest.mark.parametrize(
    ("line", "name", "column"),
    [
        ("-r other.txt", "other.txt", 4),
        ("-rother.txt", "other.txt", 3),
        ("--requirement other.txt", "other.txt", 15),
        ("--requirement=other.txt  # why", "other.txt", 15),
        ("-c limits.txt", "limits.txt", 4),
        ("--constraint limits.txt", "limits.txt", 14),
        ("  -r sub/other.txt\r", "sub/other.txt", 6),
        ('-r "my other.txt"', "my other.txt", 5),
        ("-r é.txt", "é.txt", 4),
        ("-r https://host/other.txt", "https://host/other.txt", 4),
        ("-r ${HOME}/other.txt", "${HOME}/other.txt", 4),
        ("-r .", ".", 4),
    ],
)
def test_a_file_that_is_not_there_is_a_warning_at_its_place(line: str, name: str, column: int, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(f"numpy\n{line}\n")
    assert _tell(tmp_path) == [("requirements.txt", "requirements-unread", name, 2, column)]
    (report,) = scan(tmp_path, Target()).files
    assert (report.verdict, describe_file(report)) == ("work", "needs work at 1 place")
    assert report.findings[0].excerpt == line.rstrip("\r")


@pytest.mark.parametrize("line", ["# -r other.txt", "r-base", "--require-hashes", "--no-cache-dir", "a-r x.txt"])
def test_other_lines_name_no_file(line: str, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(f"{line}\n")
    assert "requirements-unread" not in {rule for _, rule, *_ in _tell(tmp_path)}


def test_in_a_conda_environment_too(tmp_path: Path) -> None:
    text = "dependencies:\n  - r-base\n  - pip:\n    - -r other.txt\n    - '-c x.txt'\n"
    (tmp_path / "environment.yml").write_text(text)
    assert [(detail, line) for _, _, detail, line, _ in _tell(tmp_path)] == [("other.txt", 4), ("x.txt", 5)]


def test_what_is_there_is_read_whatever_its_name_and_folder_and_only_once(tmp_path: Path) -> None:
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "requirements.txt").write_text("-r base.txt\n-c ../limits\n-r base.txt\n")
    (folder / "base.txt").write_text("-r requirements.txt\n-r base.txt\ncupy-cuda12x\n")
    (tmp_path / "limits").write_text("torch==2.4\n")
    report = scan(folder, Target())
    assert [(Path(item.path).name, item.rule) for item in report.findings] == [
        ("base.txt", "cuda-wheel"), ("limits", "torch-swap"),
    ]  # fmt: skip
    assert report.scanned == 3
    verdicts = {Path(file.path).name: describe_file(file) for file in report.files}
    assert verdicts["requirements.txt"] == f"blocked through {folder / 'base.txt'}"


def test_a_mark_and_a_baseline_hold_for_what_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text("-r other.txt  # hipcompat: ignore[requirements-unread]\n")
    report = scan(path, Target())
    assert (report.findings, report.suppressed, report.verdict) == ((), 1, "portable")
    path.write_text("-r other.txt\n")
    (tmp_path / "k.cu").write_text('#include "nowhere.cuh"\nvoid f() { cudaFree(0); }\n')
    first = scan(tmp_path, Target())
    assert {item.rule for item in first.findings} == {"requirements-unread", "unresolved-include"}
    write_baseline(first.findings, tmp_path / "known.json")
    again = scan(tmp_path, Target(), baseline=read_baseline(tmp_path / "known.json"))
    assert (again.findings, again.suppressed, again.verdict) == ((), 2, "work")
    (tmp_path / "k.cu").write_text('// hipcompat: ignore\n#include "nowhere.cuh"\nvoid f() { cudaFree(0); }\n')
    assert {item.rule for item in scan(tmp_path, Target()).findings} == {"requirements-unread"}
