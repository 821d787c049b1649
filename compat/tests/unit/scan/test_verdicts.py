"""Verdicts of files and trees, includes, marks, baselines, odd files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hipcompat.errors import FileError
from hipcompat.scan import Report, Target, scan
from hipcompat.scan.detect.names import find_meaning
from hipcompat.scan.report.text import describe_file, describe_tree, format_report, format_summary
from hipcompat.scan.suppress import read_baseline, write_baseline


def _write(folder: Path, **files: str) -> Report:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return scan([folder], Target())


@pytest.mark.parametrize(
    ("text", "verdict", "words"),
    [
        ("__global__ void k(float *x) { x[threadIdx.x] = 0; }", "portable", None),
        ("void f() { cudaMalloc(&p, 4); }", "translate", "needs translation"),
        ("__global__ void k() { int lane = threadIdx.x & 31; }", "work", "needs work at 1 place"),
        ("void f() { nvmlInit(); cuGreenCtxCreate(); }", "blocked", "blocked by 2"),
    ],
)
def test_a_file_has_one_verdict(text: str, verdict: str, words: str | None, tmp_path: Path) -> None:
    report = _write(tmp_path, k__cu=text)
    assert report.verdict == verdict
    assert [describe_file(file) for file in report.files] == ([words] if words else [])


def test_what_includes_a_blocked_file_is_blocked(tmp_path: Path) -> None:
    report = _write(tmp_path, a__cu='#include "b.cuh"\n', b__cuh='#include "c.h"\n', c__h="void f() { nvmlInit(); }")
    assert [(Path(file.path).name, file.verdict) for file in report.files] == [
        ("a.cu", "blocked"), ("b.cuh", "blocked"), ("c.h", "blocked"),
    ]  # fmt: skip
    assert describe_file(report.files[0]) == f"blocked through {tmp_path / 'c.h'}"


def test_includes_in_a_circle_end(tmp_path: Path) -> None:
    report = _write(tmp_path, a__h='#include "b.h"\nvoid f() { nvmlInit(); }', b__h='#include "a.h"\n#include "b.h"\n')
    assert [file.verdict for file in report.files] == ["blocked", "blocked"]


def test_an_include_that_is_not_there_is_noted(tmp_path: Path) -> None:
    text = '#include "there.h"\n#include "not/there2.h"\nvoid f() { cudaMalloc(); }'
    report = _write(tmp_path, a__cu=text, there__h="")
    assert [finding.detail for finding in report.findings] == ["not/there2.h"]


def test_an_include_that_is_there_and_was_not_scanned_is_noted_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "inc.h").write_text("void f() { nvmlInit(); }")
    (tmp_path / "a" / "k.cpp").write_text('// first\n  #include "../inc.h"\nint g();\n')
    findings = scan([tmp_path / "a"], Target()).findings
    assert [(found.rule, found.severity, found.detail, found.line, found.column) for found in findings] == [
        ("unresolved-include", "note", "../inc.h", 2, 13)
    ]
    assert not scan([tmp_path / "a", tmp_path / "inc.h"], Target()).files[0].findings
    assert not scan([tmp_path / "a" / ".." / "a", tmp_path / "inc.h"], Target()).files[0].findings


@pytest.mark.parametrize(
    ("name", "is_noted"),
    [("helper_math.h", True), ("my/kernels.cuh", True), ("stdio.h", False), ("sys/types.h", False), ("vector", False),
     ("cuda_runtime.h", False), ("torch/extension.h", False), ("near.cuh", False)],
)  # fmt: skip
def test_an_include_in_angle_brackets_is_noted_where_it_may_hold_kernels(
    name: str, is_noted: bool, tmp_path: Path
) -> None:
    report = _write(tmp_path, k__cu=f"#include <{name}>\n__global__ void k() {{}}\n", near__cuh="")
    noted = [(found.line, found.column, found.excerpt) for found in report.findings]
    assert noted == ([(1, 11, f"#include <{name}>")] if is_noted else [])


@pytest.mark.parametrize(
    "text",
    [
        "void f() { nvmlInit(); }  // hipcompat: ignore[nvml]",
        "void f() {\n  // hipcompat: ignore[api-missing, nvml]\n  nvmlInit();\n}",
        "/* hipcompat: ignore-file[nvml] */\n\n\nvoid f() { nvmlInit(); }",
        "void f() { nvmlInit(); }  // hipcompat: ignore",
    ],
)
def test_a_comment_silences_a_finding(text: str, tmp_path: Path) -> None:
    report = _write(tmp_path, k__cu=text)
    assert (report.findings, report.suppressed, report.verdict) == ((), 1, "portable")


def test_a_comment_about_another_rule_silences_nothing(tmp_path: Path) -> None:
    assert _write(tmp_path, k__cu="void f() { nvmlInit(); }  // hipcompat: ignore[cudnn]").verdict == "blocked"


def test_a_baseline_hides_what_was_there_and_no_more(tmp_path: Path) -> None:
    first = _write(tmp_path, k__cu="void f() { nvmlInit(); }\n")
    write_baseline(first.findings, tmp_path / "known.json")
    (tmp_path / "k.cu").write_text("int moved;\nvoid f() { nvmlInit(); }\nvoid g() { cuGreenCtxCreate(); }\n")
    report = scan([tmp_path], Target(), baseline=read_baseline(tmp_path / "known.json"))
    assert [finding.rule for finding in report.findings] == ["api-missing"]
    assert report.suppressed == 1
    assert (report.verdict, describe_file(report.files[0])) == ("blocked", "blocked by 2 (of them 1 in the baseline)")


def test_a_baseline_leaves_the_verdict(tmp_path: Path) -> None:
    first = _write(tmp_path, a__cu='#include "b.cuh"\n', b__cuh="void f() { nvmlInit(); }", c__py="import pynvml\n")
    write_baseline(first.findings, tmp_path / "known.json")
    report = scan([tmp_path], Target(), baseline=read_baseline(tmp_path / "known.json"))
    assert (report.findings, report.verdict) == ((), "blocked")
    assert [file.verdict for file in report.files] == ["blocked", "blocked", "work"]
    words = "needs work at 1 place (of them 1 in the baseline), blocked by 1 (of them 1 in the baseline)"
    assert describe_tree(report) == f"{words}: 3 files read for gfx942 and ROCm 7.0.2, 2 known findings not told"
    assert words in format_summary(report)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 9, "findings": {}}', '{"schema": 1, "findings": 3}'])
def test_a_damaged_baseline_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "known.json").write_text(text)
    with pytest.raises(FileError, match=r"known\.json"):
        read_baseline(tmp_path / "known.json")


@pytest.mark.parametrize(
    ("shuffle", "verdict"),
    [("__shfl_xor_sync(~0u, v, m)", "work"), ("__shfl_xor_sync(~0u, v, m, warpSize)", "translate")],
)
def test_a_wave_by_warpsize_needs_work_until_its_width_is_stated(shuffle: str, verdict: str, tmp_path: Path) -> None:
    loop = f"for (int m = warpSize / 2; m; m /= 2) v += {shuffle};"
    assert _write(tmp_path, k__cu=f"__global__ void k(int v) {{ {loop} }}").verdict == verdict


def test_odd_files_never_stop_a_scan(tmp_path: Path) -> None:
    (tmp_path / "empty.cu").write_bytes(b"")
    (tmp_path / "binary.cu").write_bytes(b"cuda\0\x01\x02" * 100)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "nowhere.cu").symlink_to(tmp_path / "missing")
    os.mkfifo(tmp_path / "pipe.cu")
    (tmp_path / "again.cu").symlink_to(tmp_path / "k.cu")
    report = _write(tmp_path, k__cu="void f() { nvmlInit(); }")
    assert len(report.findings) == 1
    assert [skipped.reason for skipped in report.skipped] == ["binary", "No such file or directory", "no regular file"]


def test_a_file_of_200_mb_is_named_and_not_read(tmp_path: Path) -> None:
    with (tmp_path / "large.cu").open("wb") as stream:
        stream.truncate(200 * 1024 * 1024)
    report = scan([tmp_path], Target())
    assert [skipped.reason for skipped in report.skipped] == ["larger than 32 MB"]
    assert "not read (larger than 32 MB)" in format_report(report)


def test_a_path_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is not there"):
        scan([tmp_path / "missing"], Target())


def test_text_points_at_the_place(tmp_path: Path) -> None:
    text = format_report(_write(tmp_path, k__cu="void f() {\n\tnvmlInit();\n}"))
    assert f"{tmp_path}/k.cu:2:2: error nvml: " in text
    assert "    \tnvmlInit();\n    \t^^^^^^^^\n" in text
    assert text.endswith("blocked by 1: 1 file read for gfx942 and ROCm 7.0.2")


def test_summary_fits_an_issue(tmp_path: Path) -> None:
    report = _write(tmp_path, k__cu="void f() { nvmlInit(); nvmlInit(); }", m__py="import pynvml\n")
    summary = format_summary(report)
    assert f"**hipcompat scan:** {describe_tree(report)}" in summary
    assert "| pynvml | warning | 1 |" in summary
    assert summary.count("\n") < 20


def test_what_our_headers_provide_needs_translation_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"cooperative_groups/reduce.h": "cooperative_groups/reduce.h", "__nanosleep": "warp.h"}
    text = "#include <cooperative_groups/reduce.h>\n__global__ void k() { __nanosleep(1); }"
    assert _write(tmp_path, k__cu=text).verdict == "blocked"
    monkeypatch.setattr("hipcompat.facts.provided.PROVIDED", names)
    find_meaning.cache_clear()
    assert scan([tmp_path], Target()).verdict == "translate"
    find_meaning.cache_clear()


def test_a_mark_for_a_rule_that_there_is_not_is_noted(tmp_path: Path) -> None:
    report = _write(tmp_path, k__cu="void f() { nvmlInit(); }  // hipcompat: ignore[nvml, nvlm]\n")
    assert [(found.rule, found.detail, found.line, found.column) for found in report.findings] == [
        ("unknown-mark", "nvlm", 1, 54)
    ]
