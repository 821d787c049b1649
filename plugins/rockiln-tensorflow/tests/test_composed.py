"""Every op by TensorFlow on the CPU: right by the golden files; a third of their cases by day."""

from __future__ import annotations

import numpy as np
import pytest

from golden_calls import call_case
from harness.rotation import NIGHTLY, read_rotation
from rockiln_kernels.golden import read_golden
from rockiln_kernels.table import read_table


@pytest.mark.parametrize("op", sorted(read_table()))
def test_golden_cases_are_right(op: str) -> None:
    faults = []
    cases = read_golden(op)
    for case in cases if NIGHTLY else cases[read_rotation() % 3 :: 3] or cases:
        outputs = call_case(case)
        got = {spec.name: np.asarray(value) for spec, value in zip(read_table()[op].outputs, outputs, strict=True)}
        faults += [f"{case.cell}/{case.name}: {fault}" for fault in case.find_faults(got)]
    assert faults == []
