"""Autograd follows compositions in float64 where the spec has a gradient, and agrees with the op's own backward."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from rockiln_kernels.table import read_table
from rockiln_torch.framework import compose

TABLE = read_table()
GATES = ("silu_and_mul", "gelu_and_mul", "gelu_tanh_and_mul", "swiglu_and_mul")
DIFFERENTIABLE = sorted(op for op, spec in TABLE.items() if spec.gradient)


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Normal float64 numbers that want a gradient."""
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def make_call(op: str) -> tuple[list[Tensor], dict[str, Any]]:
    """Inputs in the spec's order, and scalars."""
    if op == "rms_norm":
        return [draw(3, 7), draw(7, seed=1)], {"weight_offset": 0.5, "eps": 1e-5}
    if op == "rope":
        angles = torch.rand(9, 3, dtype=torch.float64)
        return [draw(4, 2, 8), angles.cos(), angles.sin(), torch.tensor([0, 8, 3, 3], dtype=torch.int32)], {}
    if op == "attention_prefill":
        starts = torch.tensor([[0, 2, 3], [0, 3, 5]], dtype=torch.int32)
        arrays = [draw(3, 4, 3), draw(5, 2, 3, seed=1), draw(5, 2, 3, seed=2), starts[0], starts[1]]
        return arrays, {"scale": 0.4, "max_seqlen_q": 2, "window_left": 1}
    return [draw(3, 8)], {"limit": 0.8}


def test_every_differentiable_op_is_called_here() -> None:
    assert {"rms_norm", "rope", "attention_prefill", *GATES} == set(DIFFERENTIABLE)


@pytest.mark.parametrize("op", DIFFERENTIABLE)
def test_autograd_agrees_with_differences(op: str) -> None:
    inputs, scalars = make_call(op)
    assert torch.autograd.gradcheck(lambda *tensors: compose(op)(*tensors, **scalars)[0], inputs)


@pytest.mark.parametrize("op", DIFFERENTIABLE)
def test_autograd_twice_agrees_with_differences(op: str) -> None:
    if op == "attention_prefill":
        pytest.skip("torch's flash attention has no second derivative")
    inputs, scalars = make_call(op)
    assert torch.autograd.gradgradcheck(lambda *tensors: compose(op)(*tensors, **scalars)[0], inputs)


@pytest.mark.parametrize("op", DIFFERENTIABLE)
@pytest.mark.parametrize("interleaved", [False, True])
def test_autograd_agrees_with_the_ops_own_backward(op: str, *, interleaved: bool) -> None:
    gradient = TABLE[op].gradient
    assert gradient is not None
    inputs, scalars = make_call(op)
    if op == "rope" or op in GATES:
        scalars["interleaved"] = interleaved
    outputs = dict(zip((array.name for array in TABLE[op].outputs), compose(op)(*inputs, **scalars), strict=True))
    first = next(iter(outputs))
    known = dict(zip((array.name for array in TABLE[op].inputs), inputs, strict=False)) | outputs
    known[f"grad {first}"] = torch.ones_like(outputs[first]) * torch.linspace(0.5, 1.5, outputs[first].shape[-1])
    wanted = torch.autograd.grad(outputs[first], [known[name] for _, name in gradient.outputs], known[f"grad {first}"])
    got = compose(gradient.op)(*(known[name].detach() for _, name in gradient.inputs), **scalars)
    for own, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(own, other, atol=1e-12, rtol=1e-10)


def test_sinks_have_a_gradient() -> None:
    inputs, scalars = make_call("attention_prefill")
    sinks = draw(4, seed=3)
    assert torch.autograd.gradcheck(
        lambda *tensors: compose("attention_prefill")(*tensors, **scalars)[:2], [*inputs, sinks]
    )


@pytest.mark.parametrize("op", DIFFERENTIABLE)
def test_results_do_not_depend_on_whether_autograd_follows(op: str) -> None:
    inputs, scalars = make_call(op)
    with torch.no_grad():
        plain = compose(op)(*inputs, **scalars)
    torch.testing.assert_close(compose(op)(*inputs, **scalars), plain, atol=1e-14, rtol=1e-13)
