"""A patched tiny model gives the unpatched one's logits and gradients, eager and compiled, and comes back whole."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend

transformers = pytest.importorskip("transformers", minversion="5.0")

from compile.spellings import LENGTHS_ARE_SYMBOLS  # noqa: E402  # as below
from models.tiny_models import WORDS, make_model, make_tokens  # noqa: E402  # needs transformers
from rockiln_torch.models import NAME, ModelPatch  # noqa: E402
from rockiln_torch.models import patch_model as patch  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
FAMILIES = list(WORDS)
ALLOWED = {torch.float32: 2e-5, torch.bfloat16: 3e-2}
"""Of the largest logit: f32 differs in the order of sums; bf16 in how often it rounds."""


Patcher = Callable[..., ModelPatch]


@pytest.fixture
def patch_model() -> Iterator[Patcher]:
    """patch_model, undone behind the test."""
    made: list[ModelPatch] = []

    def patch_and_keep(*args: Any, **words: Any) -> ModelPatch:
        made.append(patch(*args, **words))
        return made[-1]

    yield patch_and_keep
    for own in made:
        own.undo()


def assert_near(got: torch.Tensor, want: torch.Tensor, allowed: float) -> None:
    assert got.isfinite().all()
    difference = (got.float() - want.float()).abs().max() / want.float().abs().max()
    assert difference <= allowed, f"{difference:.2g} of the largest"


@pytest.mark.parametrize("dtype", ALLOWED)
@pytest.mark.parametrize("family", FAMILIES)
def test_logits_are_those_of_the_unpatched_model(family: str, dtype: torch.dtype, patch_model: Patcher) -> None:
    model, tokens = make_model(family, dtype), make_tokens()
    with torch.no_grad():
        exact = make_model(family, torch.float32)(tokens).logits if dtype == torch.bfloat16 else None
        want = model(tokens).logits
        done = patch_model(model)
        got = model(tokens).logits
    assert done.patched
    assert not done.skipped
    if exact is None:
        assert_near(got, want, ALLOWED[dtype])
    else:  # no further from f32 than the unpatched model, or by rounding
        own, other = ((logits.float() - exact).abs().mean() for logits in (got, want))
        assert own <= 1.25 * other + ALLOWED[dtype] * exact.abs().mean()


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_those_of_the_unpatched_model(family: str, patch_model: Patcher) -> None:
    model, tokens = make_model(family), make_tokens()
    want = take_gradients(model, tokens)
    patch_model(model)
    got = take_gradients(model, tokens)
    assert got.keys() == want.keys()
    for name, gradient in want.items():
        assert_near(got[name], gradient, 2e-4)


def take_gradients(model: nn.Module, tokens: torch.Tensor) -> dict[str, torch.Tensor]:
    model.zero_grad()
    model(tokens, labels=tokens).loss.backward()
    return {name: own.grad.clone() for name, own in model.named_parameters() if own.grad is not None and own.grad.any()}


@pytest.mark.skipif(not LENGTHS_ARE_SYMBOLS, reason="this torch has no symbols for attention's lengths")
@pytest.mark.parametrize("family", FAMILIES)
def test_lengths_are_no_graphs_of_their_own(family: str, patch_model: Patcher) -> None:
    """A second length makes sizes symbols, attention's too; more lengths compile nothing."""
    model = make_model(family)
    want = [model(make_tokens(length=length)).logits for length in (11, 17, 23, 9)]
    patch_model(model)
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(model, backend=counter, fullgraph=True)
    for place, length in enumerate((11, 17, 23, 9)):
        assert_near(compiled(make_tokens(length=length)).logits, want[place], ALLOWED[torch.float32])
    assert counter.frame_count == 2


@pytest.mark.parametrize("family", FAMILIES)
def test_compiled_models_give_the_same(family: str, patch_model: Patcher) -> None:
    model, tokens = make_model(family), make_tokens()
    want = take_gradients(model, tokens)
    with torch.no_grad():
        logits = model(tokens).logits
    patch_model(model)
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    with torch.no_grad():
        assert_near(compiled(tokens).logits, logits, ALLOWED[torch.float32])
    model.zero_grad()
    compiled(tokens, labels=tokens).loss.backward()
    for name, parameter in model.named_parameters():
        if name in want:
            assert_near(parameter.grad, want[name], 2e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_undone_patches_leave_no_trace(family: str, patch_model: Patcher) -> None:
    model, tokens = make_model(family), make_tokens()
    place = __import__(type(model).__module__, fromlist=["x"])
    rotary = place.apply_rotary_pos_emb
    with torch.no_grad():
        want = model(tokens).logits
        first, other = patch_model(model), patch_model(make_model(family))
        first.undo()
        assert place.apply_rotary_pos_emb is not rotary, "the other model still counts on it"
        other.undo()
        first.undo()
        assert torch.equal(model(tokens).logits, want)
    assert place.apply_rotary_pos_emb is rotary
    assert model.config._attn_implementation == "eager"
    assert not [name for name, module in model.named_modules() if "forward" in module.__dict__]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("family", FAMILIES)
def test_padding_changes_nothing(family: str, side: str, patch_model: Patcher) -> None:
    model, tokens = make_model(family), make_tokens()
    mask = torch.ones_like(tokens)
    padded = slice(0, 4) if side == "left" else slice(7, 11)
    mask[1, padded] = 0
    with torch.no_grad():
        want = model(tokens, attention_mask=mask).logits
        patch_model(model)
        got = model(tokens, attention_mask=mask).logits
    assert_near(got[mask.bool()], want[mask.bool()], ALLOWED[torch.float32])


@pytest.mark.parametrize("family", FAMILIES)
def test_generated_tokens_are_the_same(family: str, patch_model: Patcher) -> None:
    model, tokens = make_model(family), make_tokens(1, 7)
    words: dict[str, Any] = {"max_new_tokens": 8, "do_sample": False, "use_cache": True}
    want = model.generate(tokens, **words)
    patch_model(model)
    assert torch.equal(model.generate(tokens, **words), want)


def test_a_copy_of_a_patched_model_is_patched_itself(patch_model: Patcher) -> None:
    model, tokens = make_model("Llama"), make_tokens()
    patch_model(model)
    other = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(0.5)
        norm = other.model.norm
        assert norm.forward.__self__ is norm
        assert not torch.equal(other(tokens).logits, model(tokens).logits)


@pytest.mark.parametrize("family", ["DeepseekV3", "Qwen3Moe", "GptOss"])
@pytest.mark.parametrize("form", ["fp8", "mxfp4"])
def test_packed_experts_give_the_logits_of_what_they_stand_for(family: str, form: str, patch_model: Patcher) -> None:
    model, tokens, reference = make_model(family), make_tokens(), make_model(family)
    patch_model(model, experts=form)
    write_back(model, reference, family)
    with torch.no_grad():
        want = reference(tokens).logits
        assert_near(model(tokens).logits, want, 5e-2)


def write_back(model: nn.Module, reference: nn.Module, family: str) -> None:
    """Into the reference's experts the values of the packed codes."""
    from rockiln_torch.framework.gemms import widen_blocks
    from rockiln_torch.framework.narrow import dequantise_mx

    for name, module in model.named_modules():
        if not name.endswith("mlp.experts") or not hasattr(module, "packed"):
            continue
        for own in ("gate_up", "down"):
            codes, scale = getattr(module.packed, own), getattr(module.packed, f"{own}_scale")
            read = widen_blocks if codes.dtype != torch.uint8 else (lambda q, s: dequantise_mx(q, s, "e2m1"))
            values = torch.stack([read(*pair) for pair in zip(codes, scale, strict=True)])
            target = getattr(reference.get_submodule(name), f"{own}_proj")
            with torch.no_grad():
                target.copy_(values.transpose(1, 2) if family == "GptOss" else values)


def test_what_cannot_be_patched_is_said(patch_model: Patcher) -> None:
    with pytest.raises(ValueError, match="is no model of Transformers of llama, qwen3"):
        patch_model(nn.Linear(2, 2))
    model = make_model("Llama")
    patch_model(model)
    with pytest.raises(ValueError, match="patched already"):
        patch_model(model)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=16,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        hidden_act="relu",
    )
    done = patch_model(transformers.LlamaForCausalLM(config))
    assert [skipped.reason for skipped in done.skipped] == ["its activation is relu, not silu"]
    assert done.model.config._attn_implementation == NAME
