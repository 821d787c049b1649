"""Every op by jax.numpy, compiled on the CPU: right by the golden files, a third of their cases by day."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from harness.rotation import NIGHTLY, read_rotation
from rockiln_jax.calls import OpParams
from rockiln_jax.forms import make_form
from rockiln_jax.primitives import bind_call
from rockiln_kernels.golden import GoldenCase, read_golden
from rockiln_kernels.table import read_table


def make_params(case: GoldenCase) -> tuple[OpParams, list[Any]]:
    """What the op's primitive is bound with."""
    form = make_form(case.op)
    scalars = {item.name: item.default for item in form.spec.scalars} | dict(case.scalars)
    params = OpParams(
        present=tuple(array.name in case.inputs for array in form.spec.inputs),
        scalars=form.bind_scalars(scalars),
        dtypes=tuple(case.dtypes[axis] for axis in form.open_axes),
    )
    return params, [jnp.asarray(case.inputs[array.name]) for array in form.spec.inputs if array.name in case.inputs]


@pytest.mark.parametrize("op", sorted(read_table()))
def test_golden_cases_are_right(op: str) -> None:
    faults = []
    cases = read_golden(op)
    for case in cases if NIGHTLY else cases[read_rotation() % 3 :: 3] or cases:
        params, arrays = make_params(case)
        outputs = bind_call(op, params, arrays)
        got = {spec.name: np.asarray(value) for spec, value in zip(read_table()[op].outputs, outputs, strict=True)}
        faults += [f"{case.cell}/{case.name}: {fault}" for fault in case.find_faults(got)]
    assert faults == []
