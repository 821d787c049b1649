"""Golden files: made again they are the same bytes, they cover the table, and their judge notices what is wrong."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from harness.golden import FOLDER, write_golden
from harness.judge import compute_reference, make_cases
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.golden import Expected, GoldenCase, read_golden
from rockiln_kernels.table import read_table

TABLE = read_table()


@pytest.mark.parametrize("op", TABLE)
def test_made_again_the_file_has_the_same_bytes(op: str) -> None:
    is_same = write_golden(TABLE[op]) == (FOLDER / f"{op}.safetensors").read_bytes()
    assert is_same, "a spec, reference or case has changed: run python -m harness.golden in tests/"


def test_files_are_those_of_the_table_and_small() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(TABLE)
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 3_000_000


@pytest.mark.parametrize("op", TABLE)
def test_every_cell_has_a_case(op: str) -> None:
    assert {case.cell for case in read_golden(op)} == set(TABLE[op].cells)


@pytest.mark.parametrize("op", TABLE)
def test_reference_passes_and_a_wrong_output_does_not(op: str) -> None:
    for golden in read_golden(op):
        with np.errstate(all="ignore"):
            case = next(case for case in make_cases(op, golden.cell) if case.name == golden.name)
        want = compute_reference(TABLE[op], golden.cell, case)
        got = {output.name: _narrow(np.asarray(want[output.name]), output) for output in golden.outputs}
        assert not golden.find_faults(got)
        for output in golden.outputs:
            if got[output.name].size:
                assert golden.find_faults({**got, output.name: _break(got[output.name], output)}), output.name


def _narrow(value: np.ndarray, output: Expected) -> np.ndarray:
    """The reference's float64 in the output's dtype; codes as they are."""
    if output.allowed is None:
        return value
    own = DTYPES[output.dtype].numpy
    with np.errstate(all="ignore"):
        return value.astype(getattr(ml_dtypes, own, own))


def _break(value: np.ndarray, output: Expected) -> np.ndarray:
    """Twice the allowed error beside, or a number for what is none; of codes half of the bits are others."""
    if output.allowed is None:
        return (np.ascontiguousarray(value).view(output.values.dtype) ^ 0x55).astype(output.values.dtype)
    with np.errstate(all="ignore"):
        beside = output.values + 2.0 * output.allowed.astype(np.float64)
        wrong = np.where(np.isfinite(output.values), beside + np.abs(beside) * 0.01, 1.0)
        return np.where(np.isfinite(wrong), wrong, np.nan).astype(value.dtype)


def test_missing_and_misshaped_outputs_are_named() -> None:
    case = read_golden("rms_norm")[0]
    assert case.find_faults({}) == ["y is missing"]
    assert "has shape (2,), expected" in case.find_faults({"y": np.zeros(2, np.float32)})[0]


def test_bits_of_narrow_types_are_read_as_values() -> None:
    case = next(case for case in read_golden("silu_and_mul") if case.cell == "bf16")
    values = case.outputs[0].values.astype(ml_dtypes.bfloat16)
    assert not case.find_faults({"y": values.view(np.uint16)})
    assert not case.find_faults({"y": values})


@pytest.mark.parametrize(("dtype", "ours", "theirs"), [("e4m3", 0x7F, 0xFF), ("e5m2", 0x7E, 0xFD)])
def test_any_nan_of_an_fp8_dtype_is_its_nan(dtype: str, ours: int, theirs: int) -> None:
    output = Expected(name="q", dtype=dtype, values=np.array([ours], np.uint8))
    case = GoldenCase(op="", cell="", name="", inputs={}, scalars={}, dtypes={}, outputs=(output,))
    assert not case.find_faults({"q": np.array([theirs], np.uint8)})
    assert case.find_faults({"q": np.array([0x3C], np.uint8)})


def test_one_code_in_a_hundred_may_be_one_step_off_where_rounding_allows_it() -> None:
    values = np.full(400, 0x30, np.uint8)
    output = Expected(name="q", dtype="e4m3", values=values, codes_may_differ=True)
    case = GoldenCase(op="", cell="", name="", inputs={}, scalars={}, dtypes={}, outputs=(output,))
    near, far, many = values.copy(), values.copy(), values.copy()
    near[:4], far[0], many[:5] = 0x31, 0x32, 0x31
    assert not case.find_faults({"q": near})
    assert "more than one step off" in case.find_faults({"q": far})[0]
    assert "5 of 400 codes differ" in case.find_faults({"q": many})[0]


def test_missing_file_says_where_golden_files_lie(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="hint: they lie in a checkout"):
        read_golden("rms_norm", tmp_path)
