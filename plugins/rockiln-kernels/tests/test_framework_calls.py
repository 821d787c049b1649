"""What the frameworks' tests share: how two outputs differ, and the words of a golden case."""

from __future__ import annotations

import numpy as np

from harness.framework_calls import find_difference, list_words, make_finite
from rockiln_kernels.golden import read_golden


def test_floats_may_differ_by_a_part_of_the_largest_and_are_infinite_alike() -> None:
    wanted = np.array([1.0, -100.0, np.inf], np.float32)
    assert find_difference(wanted, wanted) == ""
    assert find_difference(wanted + np.float32(9e-4), wanted) == ""
    assert find_difference(wanted + np.float32(2e-3), wanted).startswith("off by 0.00")
    assert find_difference(make_finite(wanted), wanted).startswith("off by ")
    assert find_difference(wanted[:2], wanted) == "float32(2,), not float32(3,)"
    assert find_difference(wanted.astype(np.float16), wanted) == "float16(3,), not float32(3,)"


def test_codes_may_differ_in_a_hundredth_of_them() -> None:
    wanted = np.arange(250, dtype=np.uint8)
    got = wanted.copy()
    got[:2] += 1
    assert find_difference(got, wanted) == ""
    got[:3] = 99
    assert find_difference(got, wanted) == "0.012 of the codes differ"


def test_words_are_scalars_and_the_dtypes_that_no_input_decides() -> None:
    case = read_golden("dequant_mxfp6")[0]
    assert list_words(case) == {**case.scalars, "out_dtype": case.dtypes["T"], "fp6_format": case.dtypes["E"]}
    plain = read_golden("rms_norm")[0]
    assert list_words(plain) == dict(plain.scalars)
