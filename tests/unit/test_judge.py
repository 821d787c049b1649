"""Reasons against rows and candidates, from the packaged table."""

from __future__ import annotations

from pathlib import Path

import pytest
from matrix_text import CPU_ROW, GPU_ROW, TOP, add_candidate
from packaging.version import Version

from rockiln.compatibility import read_compatibility
from rockiln.judge import judge_candidate, judge_distributions, judge_row, judge_version
from rockiln.matrix import Target, parse_matrix

TABLE = read_compatibility()


def row_of(text: str) -> Target:
    return parse_matrix(TOP + text, Path("matrix.toml")).targets[0]


def judge(row: str, version: str, *wheels: str) -> tuple[str, ...]:
    target = row_of(add_candidate("x", version, *wheels) + row.partition("candidates =")[0] + 'candidates = ["x"]\n')
    return judge_candidate(target, target.candidates[0], TABLE)


def test_our_two_sample_rows_have_nothing_against_them() -> None:
    for text in (CPU_ROW, GPU_ROW):
        row = row_of(text)
        assert judge_row(row, TABLE) == ()
        assert judge_candidate(row, row.candidates[0], TABLE) == ()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"torch"', '"torsh"', 'unknown framework torsh; did you mean "torch"?'),
        ("ubuntu-24.04", "ubuntu-24.10", 'unknown os ubuntu-24.10; did you mean "ubuntu-24.04"?'),
        ('"7.0.2"', '"7.0.3"', "unknown ROCm: amd 7.0.3; the table knows amd 7.0.2, debian 7.2.4"),
        ("ubuntu-24.04", "debian-sid", "amd ROCm 7.0.2 is not made for debian-sid, only for "),
        ("gfx942", "gfx1151", "amd ROCm 7.0.2 has no code for gfx1151, only for "),
        ("ubuntu-24.04", "debian-12", "amd ROCm 7.0.2 does not support gfx950 on debian-12"),
        ("3.12", "3.13", "ubuntu-24.04 has no Python 3.13, only 3.12 "),
    ],
)
def test_row_that_cannot_be_has_the_reason(old: str, new: str, reason: str) -> None:
    reasons = judge_row(row_of(GPU_ROW.replace(old, new)), TABLE)
    assert any(found.startswith(reason) for found in reasons), reasons


@pytest.mark.parametrize(
    ("row", "version", "wheels", "reason"),
    [
        (GPU_ROW, "2.9.0", ["torch==2.9.0"], "torch 2.9.0 is not validated on amd ROCm 7.0.2; 2.8.0, 2.7.1, 2.6.0 are"),
        (GPU_ROW, "2.8.0", ["torch==2.7.1"], "its wheel torch is 2.7.1, not 2.8.0"),
        (GPU_ROW, "2.8.0", ["torchvision==0.23.0"], "its wheels name none of torch; exactly one is needed"),
        (
            GPU_ROW, "2.8.0", ["torch===2.8.0+rocm7.0.0.lw.git64359f59"],
            "its wheel torch 2.8.0+rocm7.0.0.lw.git64359f59 is built for rocm7.0.0, and the row is for rocm7.0.2",
        ),
        (
            GPU_ROW, "2.8.0", ["torch===2.8.0+cpu"],
            "its wheel torch 2.8.0+cpu is built for cpu, and the row is for rocm7.0.2",
        ),
        (
            CPU_ROW, "0.6.2", ["jax==0.6.2", "torch===2.8.0+cu128"],
            "its wheel torch 2.8.0+cu128 is built for cu128, and the row is for cpu",
        ),
        (CPU_ROW, "0.6.2", ["jax==0.6.2", "jaxlib==0.6.0"], "its wheel jaxlib is 0.6.0, not 0.6.2"),
        (
            CPU_ROW.replace('"jax"', '"tensorflow"'), "2.19.1", ["tensorflow==2.19.1", "tensorflow-cpu==2.19.1"],
            "its wheels name tensorflow-cpu, tensorflow of tensorflow-cpu, tensorflow; exactly one is needed",
        ),
        (
            CPU_ROW.replace("3.11", "3.14"), "0.6.2", ["jax==0.6.2", "jaxlib==0.6.2"],
            "jaxlib 0.6.2 has no wheel for Python 3.14, only for 3.10, 3.11, 3.12, 3.13",
        ),
    ],
)  # fmt: skip
def test_candidate_that_does_not_fit_has_the_reason(row: str, version: str, wheels: list[str], reason: str) -> None:
    assert reason in judge(row, version, *wheels)


def test_footnote_of_the_support_matrix_counts() -> None:
    row = row_of(GPU_ROW.replace('"torch"', '"tensorflow"'))
    (reason,) = judge_version(row, Version("2.17.1"), TABLE)
    assert reason.startswith("tensorflow 2.17.1 on amd ROCm 7.0.2 is not for gfx950")


def test_distribution_without_wheels_for_a_python_is_refused() -> None:
    row = row_of(CPU_ROW.replace('"jax"', '"tensorflow"').replace("3.11", "3.13"))
    assert judge_distributions(row, Version("2.19.1"), TABLE) == (
        "tensorflow-cpu 2.19.1 has no wheel for Python 3.13, only for 3.9, 3.10, 3.11, 3.12",
    )
