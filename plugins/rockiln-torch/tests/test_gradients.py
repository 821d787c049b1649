"""Gradients through torch.ops.rockiln: gradcheck in f64, the table's backward ops, and those of compositions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd import gradcheck

from op_calls import find_smallest
from rockiln_torch import ops
from rockiln_torch.forms import read_forms
from rockiln_torch.gradients import is_differentiable, list_differentiable


def _draw(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


STARTS = torch.tensor([0, 2, 5], dtype=torch.int32)
POSITIONS = torch.tensor([0, 2, 1], dtype=torch.int32)
TABLE = torch.rand(4, 2)
IDS = torch.tensor([[0, 1], [2, 0]], dtype=torch.int32)
CALLS: dict[str, Callable[[], tuple[Callable[..., Any], tuple[torch.Tensor, ...]]]] = {
    "rms_norm": lambda: (lambda x, w: ops.rms_norm(x, w, weight_offset=1.0), (_draw(3, 8), _draw(8))),
    "add_rms_norm": lambda: (ops.add_rms_norm, (_draw(3, 8), _draw(3, 8), _draw(8))),
    "silu_and_mul": lambda: (ops.silu_and_mul, (_draw(2, 3, 8),)),
    "gelu_and_mul": lambda: (lambda x: ops.gelu_and_mul(x, interleaved=True), (_draw(3, 8),)),
    "gelu_tanh_and_mul": lambda: (ops.gelu_tanh_and_mul, (_draw(3, 8),)),
    "swiglu_and_mul": lambda: (ops.swiglu_and_mul, (_draw(3, 8),)),
    "rope": lambda: (lambda x: ops.rope(x, TABLE, TABLE, POSITIONS), (_draw(3, 2, 6),)),
    "gemm": lambda: (ops.gemm, (_draw(3, 4), _draw(5, 4), _draw(5))),
    "gemm_silu": lambda: (ops.gemm_silu, (_draw(3, 4), _draw(5, 4), _draw(5))),
    "gemm_gelu": lambda: (ops.gemm_gelu, (_draw(3, 4), _draw(5, 4))),
    "gemm_gelu_tanh": lambda: (ops.gemm_gelu_tanh, (_draw(3, 4), _draw(5, 4))),
    "gemm_swiglu": lambda: (ops.gemm_swiglu, (_draw(3, 4), _draw(6, 4))),
    "stream_k_gemm": lambda: (ops.stream_k_gemm, (_draw(3, 4), _draw(5, 4))),
    "attention_prefill": lambda: (
        lambda q, k, v, sinks: ops.attention_prefill(q, k, v, STARTS, STARTS, sinks, scale=0.5, max_seqlen_q=3),
        (_draw(5, 2, 4), _draw(5, 1, 4), _draw(5, 1, 4), _draw(2)),
    ),
    "topk_softmax": lambda: (lambda x: ops.topk_softmax(x, top=2)[0], (_draw(3, 5),)),
    "topk_sigmoid": lambda: (lambda x: ops.topk_sigmoid(x, top=2)[0], (_draw(3, 5),)),
    "fused_moe": lambda: (
        lambda x, gate, down, weights: ops.fused_moe(x, gate, down, weights, IDS),
        (_draw(2, 4), _draw(3, 6, 4), _draw(3, 4, 3), _draw(2, 2)),
    ),
}


@pytest.mark.parametrize("op", CALLS)
def test_gradient_is_right_in_f64(op: str) -> None:
    torch.manual_seed(0)
    function, tensors = CALLS[op]()
    assert gradcheck(function, tensors, fast_mode=True)


def test_every_differentiable_op_with_wide_inputs_is_checked() -> None:
    narrow = {"gemm_mx", "fused_moe_", "mla_decode", "paged_decode"}
    assert {name for name in list_differentiable() if not name.startswith(tuple(narrow))} == set(CALLS)


@pytest.mark.parametrize("op", list_differentiable())
def test_every_differentiable_op_has_gradients_of_its_numbers(op: str) -> None:
    call = find_smallest(op, with_gradient=True)
    outputs = [value for value in call.call() if value.requires_grad]
    sum(value.float().sum() for value in outputs).backward()
    for array, tensor in zip(call.form.spec.inputs, call.tensors, strict=True):
        if tensor is not None and tensor.requires_grad:
            assert tensor.grad is not None, array.name
            assert tensor.grad.shape == tensor.shape
            assert not tensor.grad.isnan().any()


@pytest.mark.parametrize("op", [name for name, form in read_forms().items() if form.spec.gradient])
def test_table_gradient_agrees_with_composition(op: str) -> None:
    """The backward op is what a GPU's kernel computes; the composition's own gradient is another way to it."""
    from rockiln_torch.calls import bind_arguments
    from rockiln_torch.compose_backward import differentiate
    from rockiln_torch.gradients import find_gradients

    call = find_smallest(op, with_gradient=True)
    outputs = call.call()
    bound = bind_arguments(op, call.tensors, call.words)
    given = {target for _, target in call.form.spec.gradient.outputs} if call.form.spec.gradient else set()
    needs = tuple(array.name in given for array in call.form.spec.inputs)
    slopes = tuple(torch.ones_like(value) if place == 0 else None for place, value in enumerate(outputs))
    with torch.no_grad():
        one = find_gradients(bound, outputs, slopes, needs)
    other = differentiate(op, call.tensors, bound.scalars, slopes, needs)
    for mine, theirs in zip(one, other, strict=True):
        if theirs is not None:
            torch.testing.assert_close(mine, theirs, rtol=2e-2, atol=2e-2)


def test_no_gradient_is_recorded_where_none_is_wanted() -> None:
    x = torch.randn(2, 8, requires_grad=True)
    with torch.no_grad():
        assert not ops.silu_and_mul(x).requires_grad
    assert not ops.quant_fp8_token(x, out_dtype=torch.float8_e4m3fn)[0].requires_grad
    weights, ids = ops.topk_softmax(x, top=2)
    assert weights.requires_grad
    assert not ids.requires_grad


def test_second_derivative_is_refused() -> None:
    x = torch.randn(2, 8, requires_grad=True)
    with pytest.raises(RuntimeError, match="silu_and_mul has no second derivative"):
        torch.autograd.grad(ops.silu_and_mul(x).sum(), x, create_graph=True)


def test_quantised_ops_are_not_differentiable() -> None:
    for name in ("quant_mxfp4", "rms_norm_fp8", "moe_align"):
        assert not is_differentiable(read_forms()[name].spec)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch.jit, by torch's own forward mode
def test_forward_mode_has_the_derivatives_of_finite_differences(name: str) -> None:
    function, tensors = CALLS[name]()
    gradcheck(function, tensors, check_forward_ad=True)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forward_mode_of_attention_without_sinks_is_that_of_finite_differences() -> None:
    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return ops.attention_prefill(q, k, v, STARTS, STARTS, scale=0.5, max_seqlen_q=3)[0]

    gradcheck(attend, (_draw(5, 2, 4), _draw(5, 1, 4), _draw(5, 1, 4)), check_forward_ad=True)


@pytest.mark.parametrize("op", list_differentiable())
def test_torch_func_gives_the_gradient_of_autograd(op: str) -> None:
    call = find_smallest(op, with_gradient=True)
    place = next(place for place, tensor in enumerate(call.tensors) if tensor is not None and tensor.requires_grad)
    rest = [None if tensor is None else tensor.detach() for tensor in call.tensors]

    def measure(x: torch.Tensor) -> torch.Tensor:
        made = call.op(*rest[:place], x, *rest[place + 1 :], **call.words)
        outputs = [value.float() for value in (made if isinstance(made, tuple) else (made,)) if value.requires_grad]
        shares = [torch.linspace(-1, 1, value.numel()).view(value.shape) for value in outputs]
        return sum((value.nan_to_num() * share).sum() for value, share in zip(outputs, shares, strict=True))  # type: ignore[return-value]

    x = call.tensors[place]
    assert x is not None
    (want,) = torch.autograd.grad(measure(x), x)
    got = torch.func.grad(measure)(x.detach())
    torch.testing.assert_close(got, want, rtol=2e-2, atol=2e-2 * max(1.0, float(want.abs().max())))


def test_torch_func_gives_second_derivatives_and_each_of_a_batch() -> None:
    weight, batch = torch.randn(8, dtype=torch.float64), torch.randn(4, 3, 8, dtype=torch.float64)

    def own(x: torch.Tensor) -> torch.Tensor:
        return ops.rms_norm(x, weight).sin().sum()

    def theirs(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.rms_norm(x, (8,), weight, 1e-6).sin().sum()

    torch.testing.assert_close(torch.func.hessian(own)(batch[0]), torch.func.hessian(theirs)(batch[0]))
    each = [torch.func.vmap(torch.func.grad(function))(batch) for function in (own, theirs)]
    torch.testing.assert_close(*each)
