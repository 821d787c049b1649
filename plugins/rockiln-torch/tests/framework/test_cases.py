"""Compositions on every case that the compiled kernels are held against: `ROCKILN_NIGHTLY=1`; else one dtype an op."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from golden_calls import make_array, make_tensor, make_words
from harness.case import Case
from harness.compare import find_differences
from harness.judge import compute_reference, make_cases
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.golden import GoldenCase
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_table
from rockiln_torch.framework import compose

TABLE = read_table()


def _list_cells() -> list[tuple[str, str]]:
    every = [(op, cell) for op, spec in TABLE.items() for cell in spec.cells]
    return every if os.environ.get("ROCKILN_NIGHTLY") else [(op, spec.cells[-1]) for op, spec in TABLE.items()]


@pytest.mark.parametrize(("op", "cell"), _list_cells())
def test_composition_agrees_with_reference(op: str, cell: str) -> None:
    faults = {case.name: fault for case in make_cases(op, cell) if (fault := _find_fault(TABLE[op], cell, case))}
    assert not faults


def _find_fault(spec: OpSpec, cell: str, case: Case) -> list[str]:
    dtypes = spec.cell_dtypes(cell)
    words = make_words(
        GoldenCase(op=spec.name, cell=cell, name="", inputs={}, scalars=case.scalars, dtypes=dtypes, outputs=())
    )
    tensors = [
        make_tensor(np.ascontiguousarray(case.arrays[array.name]), dtypes.get(array.dtype, array.dtype))
        if array.name in case.arrays
        else None
        for array in spec.inputs
    ]
    outputs = compose(spec.name)(*tensors, **words)
    got = {
        array.name: _as_values(make_array(output), dtypes.get(array.dtype, array.dtype))
        for array, output in zip(spec.outputs, outputs, strict=True)
    }
    return find_differences(spec, cell, case, got, compute_reference(spec, cell, case))


def _as_values(bits: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    import ml_dtypes

    return (
        bits.view(ml_dtypes.bfloat16)
        if dtype == "bf16"
        else bits.view(DTYPES[dtype].numpy)
        if dtype in {"f32", "f16"}
        else bits
    )
