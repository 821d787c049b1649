"""Random calls of every family: right, or a clear TypeError or ValueError with rule and shapes; never a crash."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
import torch

import rockiln_torch  # noqa: F401
from harness.rotation import NIGHTLY, read_rotation
from random_ops import RandomCall, draw_call
from rockiln_kernels.table import read_families, read_origins
from rockiln_torch.forms import OpForm, read_forms

CALLS = 10_000 if NIGHTLY else 2_000


@pytest.mark.parametrize("family", read_families())
def test_random_calls_are_right_or_refused(family: str) -> None:
    forms = [form for name, form in read_forms().items() if read_origins()[name] == family]
    random = Random(f"{family}/{read_rotation() if NIGHTLY else 0}")  # noqa: S311  # shapes, no secrets
    torch.manual_seed(random.randrange(2**31))
    outcomes: Counter[str] = Counter()
    for number in range(CALLS):
        form = forms[number % len(forms)]
        outcomes[_try_call(form, draw_call(form, random))] += 1
    assert set(outcomes) == {"right", "refused"}, outcomes
    assert outcomes["right"] > CALLS // 10, outcomes
    assert outcomes["refused"] > CALLS // 50, outcomes


def _try_call(form: OpForm, call: RandomCall) -> str:
    name = form.spec.name
    try:
        outputs = _call(getattr(torch.ops.rockiln, name), call.tensors, call.words)
    except (TypeError, ValueError) as error:
        return "refused" if str(error).startswith("rockiln:") else f"unclear: {error}"
    plain = tuple(None if tensor is None else tensor.contiguous() for tensor in call.tensors)
    for one, other in zip(outputs, _call(getattr(torch.ops.rockiln, name), plain, call.words), strict=True):
        assert (one.shape, one.dtype, one.stride()) == (other.shape, other.dtype, other.stride())
        if not one.is_meta:
            _compare(form, one, other)
    return "right"


def _call(op: Any, tensors: Any, words: Any) -> tuple[torch.Tensor, ...]:
    result = op(*tensors, **words)
    return result if isinstance(result, tuple) else (result,)


def _compare(form: OpForm, one: torch.Tensor, other: torch.Tensor) -> None:
    """A layout changes no result but by a rounding: torch adds up, and computes erf, in another way by it.

    Of fp8 and MX a few codes are then the next ones. What a product adds up may cancel: a rounding of its factors is
    then large beside the sum, though not beside the largest of its row.
    """
    if torch.equal(one.view(torch.uint8), other.view(torch.uint8)):
        return
    assert one.is_floating_point() or one.dtype == torch.uint8, form.spec.name
    if one.element_size() == 1:
        distance = (one.view(torch.int8).int() - other.view(torch.int8).int()).abs()
        assert int(distance.max()) == 1 or one.dtype == torch.uint8, form.spec.name  # two codes of MX are in a byte
        assert int(distance.count_nonzero()) <= max(1, one.numel() // 100), form.spec.name
        return
    own, allowed = one.float(), other.float()
    largest = allowed.nan_to_num(0.0, 0.0, 0.0).abs().amax(dim=-1, keepdim=True) if allowed.dim() else allowed.abs()
    own = torch.where((own - allowed).abs() <= 2 * torch.finfo(one.dtype).eps * largest, allowed, own)
    torch.testing.assert_close(own, allowed, rtol=2e-2, atol=2e-2, equal_nan=True)


@pytest.mark.parametrize("sizes", [(2**40, 64), (0, 64), (2**20, 2**20)])
def test_huge_sizes_are_planned_without_memory(sizes: tuple[int, int]) -> None:
    x = torch.empty(sizes, dtype=torch.bfloat16, device="meta")
    assert torch.ops.rockiln.silu_and_mul(x).shape == (sizes[0], sizes[1] // 2)
    assert torch.ops.rockiln.rms_norm(x, x.new_empty(sizes[1])).shape == sizes
