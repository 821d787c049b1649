"""attention_prefill of scales that are not positive, and of sequences that do not cover all rows, against float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from rockiln_kernels.references import attention_prefill as references
from rockiln_torch import ops
from rockiln_torch.framework import compose

STEPS = {torch.float32: 4e-6, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
SCALES = (-0.1, 0.0, 1e-44, 0.1)
"""The third is subnormal, and 0 for CPUs that flush it."""


def draw(*shape: int, seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def name_inputs(q: Tensor, k: Tensor, v: Tensor, cu_q: Tensor, cu_k: Tensor, **others: Tensor | None) -> dict[str, Any]:
    named = {"q": q, "k": k, "v": v, "cu_seqlens_q": cu_q, "cu_seqlens_k": cu_k, **others}
    wide = {name: own.double() if own.is_floating_point() else own for name, own in named.items() if own is not None}
    return {name: own.detach().numpy() for name, own in wide.items()}


def refer(*inputs: Tensor, sinks: Tensor | None = None, **scalars: Any) -> tuple[Tensor, Tensor]:
    """out and lse in float64."""
    found = references.attention_prefill(name_inputs(*inputs, sinks=sinks), scalars)
    return torch.from_numpy(found["out"]), torch.from_numpy(found["lse"])


def refer_gradients(*inputs: Tensor, dout: Tensor, **scalars: Any) -> tuple[Tensor, ...]:
    """dq, dk and dv in float64, of out and lse in float64."""
    out, lse = refer(*inputs, **scalars)
    found = references.attention_prefill_backward(name_inputs(*inputs, out=out, lse=lse, dout=dout), scalars)
    return tuple(torch.from_numpy(found[name]) for name in ("dq", "dk", "dv"))


def assert_near(got: Tensor, want: Tensor, dtype: torch.dtype) -> None:
    torch.testing.assert_close(got.double(), want, rtol=STEPS[dtype], atol=2 * STEPS[dtype])


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("width", [64, 40])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scale", SCALES)
def test_scales_that_are_not_positive_are_right(scale: float, dtype: torch.dtype, width: int, causal: bool) -> None:
    """As many queries as keys: torch's own mask is -inf times the scale, which is NaN or infinity there."""
    q, k, v = (draw(40, heads, width, seed=seed, dtype=dtype) for seed, heads in enumerate((4, 2, 2)))
    starts = torch.tensor([0, 40], dtype=torch.int32)
    for sinks in (None, torch.linspace(-2.0, 2.0, 4)):
        scalars = {"scale": scale, "causal": causal, "window_left": -1}
        out, lse = ops.attention_prefill(q, k, v, starts, starts, sinks, max_seqlen_q=40, **scalars)
        want = refer(q, k, v, starts, starts, sinks=sinks, **scalars)
        assert_near(out, want[0], dtype)
        assert_near(lse, want[1], torch.float32)


@pytest.mark.parametrize("attend", [ops.attention_prefill, compose("attention_prefill")])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("scale", SCALES)
def test_gradients_at_scales_that_are_not_positive_are_right(
    scale: float, dtype: torch.dtype, causal: bool, attend: Callable[..., tuple[Tensor, Tensor]]
) -> None:
    """By the op's own backward, and by autograd through the composition."""
    inputs = [draw(40, heads, 64, seed=seed, dtype=dtype).requires_grad_() for seed, heads in enumerate((4, 2, 2))]
    starts, dout = torch.tensor([0, 40], dtype=torch.int32), draw(40, 4, 64, seed=9, dtype=dtype)
    scalars = {"scale": scale, "causal": causal, "window_left": -1}
    out, _ = attend(*inputs, starts, starts, max_seqlen_q=40, **scalars)
    want = refer_gradients(*inputs, starts, starts, dout=dout, **scalars)
    for own, other in zip(torch.autograd.grad(out, inputs, dout), want, strict=True):
        assert_near(own, other, dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("places", [((2, 8), (1, 6)), ((3, 3, 7), (0, 2, 8)), ((1, 4, 9), (2, 2, 7)), ((5, 5), (4, 4))])
def test_rows_of_no_sequence_are_zero_and_the_others_in_place(
    places: tuple[tuple[int, ...], ...], dtype: torch.dtype
) -> None:
    q, k, v = (draw(count, heads, 64, seed=heads, dtype=dtype) for count, heads in ((9, 4), (8, 2), (8, 2)))
    starts = tuple(torch.tensor(own, dtype=torch.int32) for own in places)
    scalars = {"scale": 0.125, "causal": True, "window_left": -1}
    for sinks in (None, torch.linspace(-2.0, 2.0, 4)):
        out, lse = ops.attention_prefill(q, k, v, *starts, sinks, max_seqlen_q=9, **scalars)
        want = refer(q, k, v, *starts, sinks=sinks, **scalars)
        assert_near(out, want[0], dtype)
        assert_near(lse, want[1], torch.float32)
        assert out.is_contiguous()
        assert not out[: places[0][0]].any()
        assert (lse[:, : places[0][0]] == -torch.inf).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("attend", [ops.attention_prefill, compose("attention_prefill")])
def test_gradients_of_rows_of_no_sequence_are_zero(
    dtype: torch.dtype, attend: Callable[..., tuple[Tensor, Tensor]]
) -> None:
    inputs = [draw(9, heads, 64, seed=seed, dtype=dtype).requires_grad_() for seed, heads in enumerate((4, 2, 2))]
    starts = torch.tensor([2, 5, 8], dtype=torch.int32), torch.tensor([1, 4, 8], dtype=torch.int32)
    dout, scalars = draw(9, 4, 64, seed=9, dtype=dtype), {"scale": 0.125, "causal": True, "window_left": -1}
    out, _ = attend(*inputs, *starts, max_seqlen_q=3, **scalars)
    grads = torch.autograd.grad(out, inputs, dout)
    for own, other in zip(grads, refer_gradients(*inputs, *starts, dout=dout, **scalars), strict=True):
        assert_near(own, other, dtype)
    assert not any(grad[0].any() or grad[8].any() for grad in grads)


@pytest.mark.parametrize("name", ["q", "k"])
@pytest.mark.parametrize("starts", [(0, 6, 4), (-2, 3, 8), (0, 3, 9)])
def test_starts_that_are_no_places_in_order_are_refused(name: str, starts: tuple[int, ...]) -> None:
    x, good, bad = torch.ones(8, 2, 64), torch.tensor([0, 4, 8], dtype=torch.int32), torch.tensor(starts).int()
    own = (bad, good) if name == "q" else (good, bad)
    rule = f"attention_prefill: cu_seqlens_{name} decreases or leaves the 8 rows of {name}; hint: it holds where"
    with pytest.raises(ValueError, match=rule):
        ops.attention_prefill(x, x, x, *own, scale=0.1, max_seqlen_q=8)
    with pytest.raises(ValueError, match=rule):
        ops.attention_prefill_backward(x, x, x, x, torch.zeros(2, 8), x, *own, scale=0.1, max_seqlen_q=8)
