"""A model → ModelPatch: which of its modules run on rockiln's ops from now on, and the way back."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import MethodType, ModuleType
from typing import Any

from torch import Tensor, nn

from rockiln_torch.models.attention import NAME, register_attention
from rockiln_torch.models.blocks import FAMILIES, FORWARDS, ROTARY, find_reason
from rockiln_torch.modules import FusedExperts
from rockiln_torch.modules.experts import GPT_OSS


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A module of a known class that stays as it was."""

    module: str
    reason: str


@dataclass(slots=True, kw_only=True)
class ModelPatch:
    """What was done to a model. `undo` may be called once more, to no effect."""

    model: nn.Module
    patched: tuple[tuple[str, int], ...]
    """Class or function → how many; sorted."""
    skipped: tuple[Skipped, ...]
    attention_before: str
    _modules: list[nn.Module] = field(default_factory=list)
    _functions: list[tuple[ModuleType, str]] = field(default_factory=list)

    def undo(self) -> None:
        """Every module and function as before. Weights that were packed stay so: see patch_model."""
        for module in self._modules:
            module.__dict__.pop("forward", None)
        for place, name in self._functions:
            _restore_function(place, name)
        self._modules.clear()
        self._functions.clear()
        if self.attention_before:
            self.model.set_attn_implementation(self.attention_before)  # type: ignore[operator]
            self.attention_before = ""


def patch_model(model: nn.Module, *, attention: bool = True, experts: str = "wide") -> ModelPatch:
    """Run the blocks of a Llama, Qwen3, DeepSeek V3 or gpt-oss model of Transformers on rockiln's ops.

    Modules are patched one by one; functions for rotary positions in the model's own source module, so for every model
    of that kind in the process until the last patch is undone. `attention`: take the attention implementation
    "rockiln", too. `experts`: "wide" leaves weights alone; "fp8" and "mxfp4" pack them (they can no longer be trained,
    and do not come back with undo). Raises ValueError for other families of models, and for a patched model.
    """
    family = _find_family(model)
    if any("forward" in module.__dict__ for module in model.modules() if type(module).__name__ in FORWARDS):
        raise ValueError("the model is patched already; hint: undo that patch first")
    patch = ModelPatch(model=model, patched=(), skipped=(), attention_before="")
    skipped = list(_patch_modules(model, family, patch, experts))
    _patch_functions(sys.modules[family], patch)
    names = [type(module).__name__ for module in patch._modules] + [name for _, name in patch._functions]  # noqa: SLF001
    patch.patched, patch.skipped = tuple(sorted(Counter(names).items())), tuple(skipped)
    if attention:
        register_attention()
        patch.attention_before = str(model.config._attn_implementation)  # type: ignore[union-attr]  # noqa: SLF001
        model.set_attn_implementation(NAME)  # type: ignore[operator]
    return patch


def _find_family(model: nn.Module) -> str:
    """The modeling module that the model's class is of."""
    for parent in type(model).__mro__:
        parts = parent.__module__.split(".")
        if parts[:2] == ["transformers", "models"] and parts[2] in FAMILIES:
            return parent.__module__
    raise ValueError(f"{type(model).__name__} is no model of Transformers of {', '.join(FAMILIES)}")


def _patch_modules(model: nn.Module, family: str, patch: ModelPatch, experts: str) -> Iterator[Skipped]:
    for name, module in list(model.named_modules()):
        kind = type(module).__name__
        if kind not in FORWARDS or type(module).__module__ != family:
            continue
        if reason := find_reason(module):
            yield Skipped(module=name, reason=reason)
            continue
        if kind.endswith("Experts") and experts != "wide":
            _pack_experts(model, name, module, experts)
            continue
        module.forward = MethodType(FORWARDS[kind], module)
        patch._modules.append(module)  # noqa: SLF001


class PackedExperts(nn.Module):
    """FusedExperts that takes its arguments as Transformers' experts do."""

    def __init__(self, packed: FusedExperts) -> None:
        super().__init__()
        self.packed = packed

    def forward(self, hidden_states: Tensor, ids: Tensor, weights: Tensor) -> Tensor:
        """out like hidden_states [..., H]."""
        out: Tensor = self.packed(hidden_states, weights, ids)
        return out


def _pack_experts(model: nn.Module, name: str, module: nn.Module, form: str) -> None:
    is_gpt_oss = type(module).__name__.startswith("GptOss")
    matrices: list[Any] = [module.gate_up_proj, module.down_proj]
    if is_gpt_oss:
        matrices = [matrix.transpose(1, 2).contiguous() for matrix in matrices]
    gate = {**GPT_OSS, "alpha": module.alpha, "limit": module.limit} if is_gpt_oss else {}
    packed = FusedExperts.from_wide(*matrices, form=form, gate=gate)
    if is_gpt_oss:
        for own in ("gate_up", "down"):
            bias = getattr(module, f"{own}_proj_bias").detach()
            setattr(packed, f"{own}_bias", nn.Parameter(bias, requires_grad=False))
    parent, _, child = name.rpartition(".")
    setattr(model.get_submodule(parent), child, PackedExperts(packed))


_originals: dict[tuple[str, str], tuple[Any, int]] = {}
"""(modeling module, function) → what it was, and how many patches count on ours."""


def _patch_functions(place: ModuleType, patch: ModelPatch) -> None:
    for name, ours in ROTARY.items():
        if not hasattr(place, name):
            continue
        key = place.__name__, name
        original, count = _originals.get(key, (getattr(place, name), 0))
        _originals[key] = original, count + 1
        setattr(place, name, ours)
        patch._functions.append((place, name))  # noqa: SLF001


def _restore_function(place: ModuleType, name: str) -> None:
    key = place.__name__, name
    original, count = _originals.pop(key)
    if count > 1:
        _originals[key] = original, count - 1
    else:
        setattr(place, name, original)
