"""An op and its dtypes → calls as JAX has them, contiguous and aligned: golden cases, then the kernels' own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from harness.case import Case
from harness.judge import make_cases
from rockiln_jax.calls import OpParams
from rockiln_jax.forms import make_form
from rockiln_kernels.golden import GoldenCase, read_golden
from rockiln_kernels.table import read_table


@dataclass(frozen=True, slots=True, kw_only=True)
class CasedCall:
    """One call; `golden` where it comes from a golden file."""

    op: str
    cell: str
    case: Case
    golden: GoldenCase | None = None

    def bind(self) -> tuple[OpParams, list[Any]]:
        """What the op's primitive is bound with."""
        spec, form = read_table()[self.op], make_form(self.op)
        scalars = {item.name: item.default for item in spec.scalars} | dict(self.case.scalars)
        params = OpParams(
            present=tuple(array.name in self.case.arrays for array in spec.inputs),
            scalars=form.bind_scalars(scalars),
            dtypes=tuple(spec.cell_dtypes(self.cell)[axis] for axis in form.open_axes),
        )
        given = [self.case.arrays[array.name] for array in spec.inputs if array.name in self.case.arrays]
        return params, [jnp.asarray(array) for array in given]


def list_cases(op: str, cell: str) -> Iterator[CasedCall]:
    """Golden ones first."""
    yield from list_golden(op, cell)
    for case in make_cases(op, cell):
        if not case.is_misaligned:
            arrays = {name: np.ascontiguousarray(array) for name, array in case.arrays.items()}
            yield CasedCall(op=op, cell=cell, case=replace(case, arrays=arrays))


def list_golden(op: str, cell: str) -> Iterator[CasedCall]:
    """Those of the op's file that have these dtypes."""
    for golden in read_golden(op):
        if golden.cell == cell:
            case = Case(name=golden.name, arrays=dict(golden.inputs), scalars=dict(golden.scalars))
            yield CasedCall(op=op, cell=cell, case=case, golden=golden)
