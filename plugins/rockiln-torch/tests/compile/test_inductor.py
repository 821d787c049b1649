"""Inductor for the CPU: ops in its graphs, written by hand or put there, forward and backward; a whole model."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from compile.spellings import LENGTHS_ARE_SYMBOLS, WEIGHT, llama_norm, turn
from rockiln_torch import ops, profile
from rockiln_torch.compile import Replacement, make_backend

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs g++"),
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]
COUNTS = (("attention_prefill", 1), ("rms_norm", 1), ("rope", 1), ("silu_and_mul", 1))


@pytest.fixture(autouse=True)
def _fresh_compiler() -> None:
    torch._dynamo.reset()


def block(x: Tensor) -> Tensor:
    """One of each pattern, and eager code between them. x: [B, H, L, 16]."""
    turned = turn(llama_norm(x))
    out = functional.scaled_dot_product_attention(turned, turned, x, is_causal=True)
    return x + functional.silu(out * 2.0) * out


def compute(function: Callable[[Tensor], Tensor], length: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """The value, and the gradient of x."""
    x = torch.randn(2, 3, length, 16, generator=torch.Generator().manual_seed(length)).to(dtype).requires_grad_()
    y = function(x)
    (gradient,) = torch.autograd.grad(y.float().square().sum(), x)
    return y.detach(), gradient


def test_block_with_replaced_patterns_is_the_eager_one_for_all_sizes() -> None:
    report: list[Replacement] = []
    compiled = torch.compile(block, backend=make_backend(report=report), fullgraph=True, dynamic=True)
    for length in (5, 9):
        pairs = zip(compute(compiled, length, torch.float32), compute(block, length, torch.float32), strict=True)
        for got, want in pairs:
            torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4)
    assert [one.counts for one in report] == [COUNTS] * (1 if LENGTHS_ARE_SYMBOLS else 2)


def test_block_in_bf16_is_no_further_from_f32_than_the_eager_one() -> None:
    compiled = torch.compile(block, backend=make_backend(), fullgraph=True)
    got, eager, exact = (compute(function, 5, dtype) for function, dtype in (
        (compiled, torch.bfloat16), (block, torch.bfloat16), (block, torch.float32)
    ))  # fmt: skip
    for own, theirs, want in zip(got, eager, exact, strict=True):
        distances = [float((one.float() - want).norm() / want.norm()) for one in (own, theirs)]
        assert distances[0] <= 1.2 * distances[1], distances


def test_compiled_code_calls_the_kernels() -> None:
    compiled = torch.compile(block, backend=make_backend(), fullgraph=True)
    x = torch.randn(2, 3, 5, 16)
    compiled(x)
    with profile() as calls:
        compiled(x)
    assert {call.op: call.provider for call in calls.calls} == {
        "attention_prefill": "framework", "rms_norm": "cpu", "rope": "cpu", "silu_and_mul": "cpu",
    }  # fmt: skip


def test_ops_written_by_hand_are_one_graph_of_plain_inductor_with_gradients() -> None:
    def by_hand(x: Tensor) -> Tensor:
        return ops.silu_and_mul(ops.rms_norm(x + 1.0, WEIGHT.to(x.dtype)) * 2.0)

    compiled = torch.compile(by_hand, backend="inductor", fullgraph=True)
    for got, want in zip(compute(compiled, 5, torch.float32), compute(by_hand, 5, torch.float32), strict=True):
        torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-5)


def test_cache_that_is_written_in_place_is_written() -> None:
    def step(x: Tensor, cache: Tensor) -> Tensor:
        y = block(x)
        cache.copy_(y)
        return y * 2.0

    caches = torch.zeros(2, 3, 5, 16), torch.zeros(2, 3, 5, 16)
    compiled = torch.compile(step, backend=make_backend(), fullgraph=True)
    x = torch.randn(2, 3, 5, 16)
    torch.testing.assert_close(compiled(x, caches[0]), step(x, caches[1]), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(*caches, atol=1e-4, rtol=1e-4)


def test_patched_model_is_compiled_whole() -> None:
    pytest.importorskip("transformers", minversion="5.0")
    from models.tiny_models import make_model, make_tokens
    from rockiln_torch.models import patch_model

    model, tokens = make_model("Llama"), make_tokens()
    with torch.no_grad():
        want = model(tokens).logits
    patch = patch_model(model)
    try:
        compiled = torch.compile(model, backend="inductor", fullgraph=True)
        got = compiled(tokens).logits
        got.float().square().mean().backward()
    finally:
        patch.undo()
    torch.testing.assert_close(got.detach(), want, atol=1e-4, rtol=1e-4)
    assert all(parameter.grad is not None for parameter in model.parameters())
