"""Packed layers compute what their weights stand for, and survive everything that is done to a module."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from rockiln_torch.framework.gemms import widen_blocks
from rockiln_torch.framework.narrow import dequantise_mx
from rockiln_torch.modules import Fp8Linear, FusedExperts, MxLinear
from rockiln_torch.modules.experts import GPT_OSS


def make_linear() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(160, 96)


def make_experts(form: str) -> FusedExperts:
    torch.manual_seed(0)
    gate_up, down = torch.randn(4, 64, 96).bfloat16() * 0.1, torch.randn(4, 96, 32).bfloat16() * 0.1
    made = FusedExperts.from_wide(gate_up, down, form=form, bias=True, gate=GPT_OSS)
    for name in ("gate_up_bias", "down_bias"):
        setattr(made, name, nn.Parameter(torch.randn_like(getattr(made, name), device="cpu"), requires_grad=False))
    return made


MODULES: dict[str, Callable[[], nn.Module]] = {
    "fp8": lambda: Fp8Linear.from_linear(make_linear()),
    "mxfp4": lambda: MxLinear.from_linear(make_linear(), "mxfp4"),
    "mxfp8": lambda: MxLinear.from_linear(make_linear(), "mxfp8"),
    **{f"experts-{form}": (lambda form=form: make_experts(form)) for form in ("wide", "fp8", "mxfp4")},
}


def make_input(name: str) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(1)
    if name.startswith("experts"):
        ids = torch.tensor([[0, 3], [2, 1], [3, 2]], dtype=torch.int32)
        return torch.randn(3, 96, generator=generator).bfloat16(), torch.rand(3, 2, generator=generator), ids
    return (torch.randn(2, 3, 160, generator=generator).bfloat16(),)


def bits(module: nn.Module) -> dict[str, tuple[torch.dtype, bytes]]:
    return {
        name: (value.dtype, value.contiguous().view(torch.uint8).numpy().tobytes())
        for name, value in module.state_dict().items()
    }


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("cast", ["half", "bfloat16", "double", "float"])
def test_casts_leave_codes_and_scales_as_they_are(name: str, cast: str) -> None:
    module = MODULES[name]()
    before = bits(module)
    getattr(module, cast)()
    after = bits(module)
    for key in getattr(module, "packed_names", ()):
        assert before.get(key) == after.get(key), key
    assert list(before) == list(after)


@pytest.mark.parametrize("name", MODULES)
def test_casts_within_a_model_do_not_reach_codes(name: str) -> None:
    module = MODULES[name]()
    want = module(*make_input(name))
    model = nn.Sequential(module, nn.Linear(2, 2)).to(torch.bfloat16)
    assert model[1].weight.dtype == torch.bfloat16
    assert torch.equal(model[0](*make_input(name)), want)


@pytest.mark.parametrize("name", MODULES)
def test_moving_to_a_device_moves_every_parameter(name: str) -> None:
    moved = MODULES[name]().to("meta", torch.float16)
    assert all(parameter.device.type == "meta" for parameter in moved.parameters())


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("way", ["deepcopy", "pickle", "state_dict", "assign", "safetensors"])
def test_copies_compute_the_same(name: str, way: str, tmp_path: Path) -> None:
    module = MODULES[name]()
    other = copy_module(module, way, name, tmp_path)
    assert bits(other) == bits(module)
    assert torch.equal(other(*make_input(name)), module(*make_input(name)))


def copy_module(module: nn.Module, way: str, name: str, folder: Path) -> nn.Module:
    if way == "deepcopy":
        return copy.deepcopy(module)
    if way == "pickle":
        buffer = io.BytesIO()
        torch.save(module, buffer)
        buffer.seek(0)
        loaded: nn.Module = torch.load(buffer, weights_only=False)
        return loaded
    fresh = MODULES[name]()
    for parameter in fresh.parameters():
        parameter.data.view(torch.uint8).zero_()
    if way == "safetensors":
        files = pytest.importorskip("safetensors.torch")
        files.save_model(module, folder / "model.safetensors")
        files.load_model(fresh, folder / "model.safetensors")
    else:
        fresh.load_state_dict(module.state_dict(), assign=way == "assign")
    return fresh


@pytest.mark.parametrize("name", MODULES)
def test_other_parameters_in_their_places_compute_the_same(name: str) -> None:
    module = MODULES[name]()
    want = module(*make_input(name))
    for key, parameter in list(module.named_parameters()):
        setattr(module, key, nn.Parameter(parameter.detach().clone(), requires_grad=False))
    assert torch.equal(module(*make_input(name)), want)


@pytest.mark.parametrize("name", MODULES)
def test_compiled_modules_compute_the_same(name: str) -> None:
    module = MODULES[name]()
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(*make_input(name)), module(*make_input(name)))


def test_linear_layers_multiply_by_what_their_codes_stand_for() -> None:
    (x,) = make_input("mxfp4")
    linear = make_linear()
    for form in ("mxfp4", "mxfp8"):
        module = MxLinear.from_linear(linear, form)
        weight = dequantise_mx(module.weight, module.weight_scale, "e2m1" if form == "mxfp4" else "e4m3")
        want = nn.functional.linear(x.double(), weight.double(), module.bias.double())
        torch.testing.assert_close(module(x).double(), want, atol=1e-2, rtol=1e-2)
        error = (weight - linear.weight).abs().max() / linear.weight.abs().max()
        assert error < (0.25 if form == "mxfp4" else 0.065)
    module = Fp8Linear.from_linear(linear)
    weight = widen_blocks(module.weight, module.weight_scale)
    want = nn.functional.linear(x.double(), weight.double(), module.bias.double())
    torch.testing.assert_close(module(x).double(), want, atol=6e-2, rtol=6e-2)


def test_experts_in_every_form_are_near_the_wide_ones() -> None:
    want = make_experts("wide")(*make_input("experts"))
    for form, allowed in (("fp8", 0.05), ("mxfp4", 0.25)):
        got = make_experts(form)(*make_input("experts"))
        assert (got - want).abs().max() / want.abs().max() < allowed


def test_gradients_pass_through_frozen_codes() -> None:
    x = make_input("fp8")[0].float().requires_grad_()
    linear = MxLinear.from_linear(make_linear(), "mxfp8")
    linear(x).sum().backward()
    weight = dequantise_mx(linear.weight, linear.weight_scale, "e4m3")
    torch.testing.assert_close(x.grad, weight.sum(0).expand_as(x), atol=5e-2, rtol=5e-2)


def test_what_cannot_be_packed_is_refused() -> None:
    with pytest.raises(ValueError, match="no multiple of 32"):
        MxLinear(40, 8)
    with pytest.raises(ValueError, match="form 'fp4' is not one of"):
        MxLinear(32, 8, form="fp4")
    with pytest.raises(ValueError, match="form 'int8' is not one of"):
        FusedExperts(2, 32, 32, form="int8")
