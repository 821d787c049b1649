"""Compositions give what the golden files say, for every op, dtype and case; and in layouts that are not contiguous."""

from __future__ import annotations

import pytest
import torch

from golden_calls import make_tensors, make_words, name_outputs
from rockiln_kernels.golden import read_golden
from rockiln_kernels.table import read_table
from rockiln_torch.framework import compose, read_compositions

TABLE = read_table()


def test_every_op_of_the_table_has_a_composition() -> None:
    assert set(read_compositions()) == set(TABLE)


@pytest.mark.parametrize("op", TABLE)
def test_composition_gives_golden_outputs(op: str) -> None:
    faults = {}
    for case in read_golden(op):
        outputs = compose(op)(*make_tensors(case), **make_words(case))
        found = case.find_faults(name_outputs(case, outputs))
        faults.update({f"{case.cell}/{case.name}": found} if found else {})
    assert not faults


@pytest.mark.parametrize("op", TABLE)
def test_strided_inputs_give_the_same(op: str) -> None:
    for case in read_golden(op):
        tensors = make_tensors(case)
        strided = [None if tensor is None else stride(tensor) for tensor in tensors]
        outputs = compose(op)(*strided, **make_words(case))
        assert not case.find_faults(name_outputs(case, outputs)), f"{case.cell}/{case.name}"


def stride(tensor: torch.Tensor) -> torch.Tensor:
    """The same values, every second of a buffer along the last dim, or as they are where there is none."""
    if not tensor.ndim:
        return tensor
    wide = tensor.new_zeros((*tensor.shape[:-1], 2 * tensor.shape[-1]))
    wide[..., ::2] = tensor
    return wide[..., ::2]
