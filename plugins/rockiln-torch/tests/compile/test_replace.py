"""Spelled-out ops become rockiln's in torch.compile's graph, give the same with gradients, and others stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from compile.spellings import LENGTHS_ARE_SYMBOLS, WEIGHT, llama_norm, rotate_half, turn
from rockiln_torch.compile import Replacement, make_backend, override_sdpa
from rockiln_torch.compile.sdpa import find_reason

pytestmark = pytest.mark.filterwarnings("ignore")


def gpt_oss_norm(x: Tensor) -> Tensor:
    wide = x.to(torch.float32)
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
    return (WEIGHT * wide).to(x.dtype)


def plain_norm(x: Tensor) -> Tensor:
    return x * torch.rsqrt(torch.mean(x * x, dim=-1, keepdim=True) + 1e-5) * WEIGHT.to(x.dtype)


def own_norm(x: Tensor) -> Tensor:
    return functional.rms_norm(x, (16,), WEIGHT.to(x.dtype), 1e-5)


def halves(x: Tensor) -> Tensor:
    gate, up = x.chunk(2, dim=-1)
    return functional.silu(gate) * up


def two(x: Tensor) -> Tensor:
    return (x + 1.0) * nn.functional.silu(x * 0.5)


def eager_attention(x: Tensor) -> Tensor:
    weights = torch.matmul(x, x.transpose(2, 3)) * 0.25
    return torch.matmul(functional.softmax(weights, dim=-1, dtype=torch.float32).to(x.dtype), x)


def divided_attention(x: Tensor) -> Tensor:
    return torch.softmax(x @ x.transpose(-2, -1) / 4.0, dim=-1) @ x


def causal_sdpa(x: Tensor) -> Tensor:
    return functional.scaled_dot_product_attention(x, x, x, is_causal=True)


SPELLINGS: dict[Callable[[Tensor], Tensor], str] = {
    llama_norm: "rms_norm",
    gpt_oss_norm: "rms_norm",
    plain_norm: "rms_norm",
    own_norm: "rms_norm",
    halves: "silu_and_mul",
    two: "silu_and_mul",
    turn: "rope",
    eager_attention: "attention_prefill",
    divided_attention: "attention_prefill",
    causal_sdpa: "attention_prefill",
}


def compile_with(function: Callable[..., Any], **words: Any) -> tuple[Callable[..., Any], list[Replacement]]:
    torch._dynamo.reset()
    report: list[Replacement] = []
    backend = make_backend("aot_eager", report=report, **words)
    return torch.compile(function, backend=backend, fullgraph=True), report


def draw(dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(2, 3, 5, 16, generator=torch.Generator().manual_seed(0)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("function", SPELLINGS, ids=lambda function: function.__name__)
def test_spelling_becomes_the_op_and_gives_the_same(function: Callable[[Tensor], Tensor], dtype: torch.dtype) -> None:
    compiled, report = compile_with(function)
    x = draw(dtype)
    got, want = compiled(x), function(x)
    assert report[0].counts == ((SPELLINGS[function], 1),)
    allowed = 1e-5 if dtype == torch.float32 else 3e-2
    torch.testing.assert_close(got, want, atol=allowed, rtol=allowed)


@pytest.mark.parametrize("function", SPELLINGS, ids=lambda function: function.__name__)
def test_spelling_is_found_where_sizes_are_symbols(function: Callable[[Tensor], Tensor]) -> None:
    torch._dynamo.reset()
    report: list[Replacement] = []
    compiled = torch.compile(function, backend=make_backend("aot_eager", report=report), fullgraph=True, dynamic=True)
    for length in (5, 7):
        x = torch.randn(2, 3, length, 16, generator=torch.Generator().manual_seed(length))
        torch.testing.assert_close(compiled(x), function(x), atol=1e-5, rtol=1e-5)
    graphs = 1 if LENGTHS_ARE_SYMBOLS or SPELLINGS[function] != "attention_prefill" else 2
    assert [one.counts for one in report] == [((SPELLINGS[function], 1),)] * graphs


@pytest.mark.parametrize("function", SPELLINGS, ids=lambda function: function.__name__)
def test_gradients_pass_through_what_was_replaced(function: Callable[[Tensor], Tensor]) -> None:
    compiled, report = compile_with(function)
    gradients = []
    for each in (compiled, function):
        x = draw().requires_grad_()
        (each(x) * torch.linspace(-1.0, 1.0, x.shape[2]).view(1, 1, -1, 1)).sum().backward()
        gradients.append(x.grad)
    assert report[0].counts
    torch.testing.assert_close(*gradients, atol=2e-5, rtol=2e-5)


def outside_tables(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return (x * cos) + (rotate_half(x) * sin)


def other_angles(x: Tensor) -> Tensor:
    angles = torch.arange(5.0)[None, :, None] * torch.linspace(0.1, 1.0, 8)
    both = torch.cat((angles, angles + 1.0), dim=-1)
    return (x * both.cos().unsqueeze(1)) + (rotate_half(x) * both.sin().unsqueeze(1))


def masked_attention(x: Tensor) -> Tensor:
    weights = x @ x.transpose(2, 3) * 0.25 + torch.ones(5, 5).triu(1) * -1e4
    return weights.softmax(-1) @ x


def other_rows(x: Tensor) -> Tensor:
    return x * torch.rsqrt((x + 1.0).pow(2).mean(-1, keepdim=True) + 1e-5) * WEIGHT


def other_dim(x: Tensor) -> Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-2, keepdim=True) + 1e-5) * WEIGHT


def gate_of_sums(x: Tensor) -> Tensor:
    return functional.silu(x) * x.sum(-1, keepdim=True)


def written_norm(x: Tensor) -> Tensor:
    """The mean is of x as it was, the product of x as it is."""
    wide = x * 1.0
    factor = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
    wide.add_(1.0)
    return wide * factor * WEIGHT


def written_view(x: Tensor) -> Tensor:
    wide = x * 1.0
    factor = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
    wide.view(-1)[3] = 4.0
    return wide * factor * WEIGHT


def written_angles(x: Tensor) -> Tensor:
    """The second half of the angles is another one by then."""
    angles = torch.arange(5.0)[None, :, None] * torch.linspace(0.1, 1.0, 8)
    both = torch.cat((angles, angles), dim=-1)
    both[..., 8:] += 1.0
    return (x * both.cos().unsqueeze(1)) + (rotate_half(x) * both.sin().unsqueeze(1))


def written_gate(x: Tensor) -> Tensor:
    gate = x * 1.0
    return functional.silu(gate, inplace=True) * x + gate


def written_out(x: Tensor) -> Tensor:
    gate = x * 1.0
    kept = functional.silu(gate)
    torch.add(gate, 1.0, out=gate)
    return kept * gate


def coded_norm(x: Tensor) -> Tensor:
    """Rounded to codes on the way, which is the point of it."""
    normal = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
    return normal.to(torch.float8_e4m3fn).to(x.dtype) * WEIGHT


def whole_norm(x: Tensor) -> Tensor:
    return (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)).to(torch.int32).to(x.dtype) * WEIGHT


def scaled_sum(x: Tensor) -> Tensor:
    """torch.add multiplies its second operand by alpha."""
    factor = torch.rsqrt(torch.add(x.pow(2).mean(-1, keepdim=True), 1e-2, alpha=100))
    return x * factor * WEIGHT


def floored_attention(x: Tensor) -> Tensor:
    return torch.div(x @ x.transpose(2, 3), 0.25, rounding_mode="floor").softmax(-1) @ x


def named_arguments(x: Tensor) -> Tensor:
    """Patterns read operands by place: another spelling is left alone, and nothing fails."""
    power = torch.pow(x, exponent=2) + torch.softmax(input=x, dim=-1)
    return torch.mul(input=x, other=torch.rsqrt(input=power.mean(-1, keepdim=True) + 1e-5))


LOOK_ALIKES = (
    other_angles, masked_attention, other_rows, other_dim, gate_of_sums, written_norm, written_view, written_angles,
    written_gate, written_out, coded_norm, whole_norm, scaled_sum, floored_attention, named_arguments,
)  # fmt: skip


@pytest.mark.parametrize("function", LOOK_ALIKES, ids=lambda each: each.__name__)
def test_what_only_looks_alike_is_left_alone(function: Callable[[Tensor], Tensor]) -> None:
    compiled, report = compile_with(function)
    torch.testing.assert_close(compiled(draw()), function(draw()))
    assert report[0].counts == ()


def test_tables_that_come_from_outside_are_not_trusted() -> None:
    compiled, report = compile_with(outside_tables)
    tables = torch.randn(2, 1, 5, 16), torch.randn(2, 1, 5, 16)
    torch.testing.assert_close(compiled(draw(), *tables), outside_tables(draw(), *tables))
    assert report[0].counts == ()


def test_writes_elsewhere_hinder_nothing() -> None:
    """As with a cache that is written in place, layer by layer."""

    def step(x: Tensor, cache: Tensor) -> Tensor:
        angles = torch.arange(5.0)[None, :, None] * torch.linspace(0.1, 1.0, 8)
        both = torch.cat((angles, angles), dim=-1)
        cos, sin = both.cos().unsqueeze(1), both.sin().unsqueeze(1)
        for place in range(2):
            x = llama_norm(x)
            x = x * cos + rotate_half(x) * sin
            cache[place].copy_(x)
            x = x + cache[place]
        return x

    compiled, report = compile_with(step)
    caches = torch.zeros(2, 2, 3, 5, 16), torch.zeros(2, 2, 3, 5, 16)
    torch.testing.assert_close(compiled(draw(), caches[0]), step(draw(), caches[1]), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(*caches, atol=1e-5, rtol=1e-5)
    assert report[0].counts == (("rms_norm", 2), ("rope", 2))


def test_several_in_a_row_are_all_replaced() -> None:
    compiled, report = compile_with(lambda x: halves(llama_norm(llama_norm(x) + x)))
    torch.testing.assert_close(compiled(draw()), halves(llama_norm(llama_norm(draw()) + draw())), atol=1e-5, rtol=1e-5)
    assert report[0].counts == (("rms_norm", 2), ("silu_and_mul", 1))


def test_only_wanted_patterns_are_replaced() -> None:
    compiled, report = compile_with(lambda x: halves(llama_norm(x)), patterns=("rms_norm",))
    compiled(draw())
    assert report[0].counts == (("rms_norm", 1),)
    with pytest.raises(ValueError, match="'layer_norm' is no pattern; hint: one of rms_norm"):
        make_backend(patterns=("layer_norm",))


def test_sdpa_within_the_block_is_ours_and_gives_the_same() -> None:
    q, k = draw().requires_grad_(), draw()
    want = functional.scaled_dot_product_attention(q, k, k, is_causal=True)
    calls: list[str] = []
    with torch.library._scoped_library("rockiln_watch", "FRAGMENT"), override_sdpa(), watch_ops(calls):
        got = functional.scaled_dot_product_attention(q, k, k, is_causal=True)
        masked = functional.scaled_dot_product_attention(q, k, k, attn_mask=torch.ones(5, 5).tril().bool())
    torch.testing.assert_close(got, want)
    torch.testing.assert_close(masked, want)
    assert calls == ["rockiln::attention_prefill"]
    with watch_ops(calls):
        functional.scaled_dot_product_attention(q, k, k)
    assert len(calls) == 1
    got.sum().backward()
    assert q.grad is not None


class watch_ops(torch.utils._python_dispatch.TorchDispatchMode):  # noqa: N801  # reads as a with statement
    """Collects names of rockiln's ops that are called."""

    def __init__(self, calls: list[str]) -> None:
        super().__init__()
        self.calls = calls

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace == "rockiln" and not func._opname.endswith("backward"):
            self.calls.append(func.name())
        return func(*args, **(kwargs or {}))


def test_sdpa_in_compiled_code_is_ours_too() -> None:
    def attend(x: Tensor) -> Tensor:
        with override_sdpa():
            return functional.scaled_dot_product_attention(x, x, x)

    torch._dynamo.reset()
    compiled = torch.compile(attend, backend="aot_eager")
    torch.testing.assert_close(compiled(draw()), functional.scaled_dot_product_attention(draw(), draw(), draw()))


def test_sdpa_that_is_not_ours_says_why() -> None:
    x = draw()
    assert find_reason(x, x, x, has_mask=True, is_causal=False) == "it has a mask or dropout"
    assert "last at the last" in find_reason(x[:, :, :2], x, x, has_mask=False, is_causal=True)
    assert "dtypes" in find_reason(x.double(), x.double(), x.double(), has_mask=False, is_causal=False)
    with override_sdpa(), pytest.raises(ValueError, match="enable_gqa=True"):
        functional.scaled_dot_product_attention(x[:, :1].expand(2, 6, 5, 16), x, x)
