"""torch.library.opcheck, all its tests, on every op and every out-variant."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import rockiln_torch  # noqa: F401
from op_calls import find_smallest
from rockiln_torch.op_table import OPS


@pytest.fixture(autouse=True)
def _compares_narrow_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """opcheck asks by torch.allclose whether an input has changed; it has no fp8, so bits are compared."""
    allclose = torch.allclose

    def compare(one: torch.Tensor, other: torch.Tensor, **words: Any) -> bool:
        if one.is_floating_point() and one.element_size() == 1:
            return torch.equal(one.view(torch.uint8), other.view(torch.uint8))
        return allclose(one, other, **words)

    monkeypatch.setattr(torch, "allclose", compare)


@pytest.mark.parametrize("op", OPS)
def test_op_passes_opcheck(op: str) -> None:
    call = find_smallest(op, with_gradient=True)
    torch.library.opcheck(call.op, call.tensors, call.words)


@pytest.mark.parametrize("op", OPS)
def test_out_variant_passes_opcheck(op: str) -> None:
    call = find_smallest(op)
    outputs = dict(zip(call.form.out_names, (torch.zeros_like(value) for value in call.call()), strict=True))
    torch.library.opcheck(call.out_op, call.tensors, {**call.words, **outputs})
