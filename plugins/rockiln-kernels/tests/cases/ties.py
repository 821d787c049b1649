"""A format of fp8, fp6 or fp4 → rows in which every number is one of the format, or the middle of two neighbours."""

from __future__ import annotations

import numpy as np

from harness.case import Array, make_generator, numpy_dtype
from rockiln_kernels.references.narrow import FORMATS, list_magnitudes
from rockiln_kernels.spec import OpSpec

_ROWS, _COLUMNS = 2, 1120


def find_format(spec: OpSpec, cell: str) -> str:
    """The format that an op rounds to: an axis of the cell, or e2m1 where no axis is one."""
    return next((name for name in spec.cell_dtypes(cell).values() if name in FORMATS), "e2m1")


def draw_ties(spec: OpSpec, cell: str, block: int) -> Array:
    """[2, 1120] of both signs; each `block` of a row begins with the largest number, so that its scale is 1."""
    generator, values = make_generator("ties", spec.name, cell), list_magnitudes(find_format(spec, cell))
    pool = np.concatenate([values, (values[1:] + values[:-1]) / 2.0])
    drawn = np.resize(generator.permutation(pool), (_ROWS, _COLUMNS)) * generator.choice((-1.0, 1.0), (_ROWS, _COLUMNS))
    drawn = generator.permuted(drawn, axis=1)
    drawn[:, ::block] = values[-1]
    return drawn.astype(numpy_dtype(spec.cell_dtypes(cell)["T"]))
