"""A module with packed weights → the same module after .to(dtype), .half() or .bfloat16(): moved, but not cast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import torch
from torch import Tensor, nn


class Packed(nn.Module):
    """Base of modules some of whose parameters hold codes and scales, which no cast may touch."""

    packed_names: tuple[str, ...] = ()
    """Of parameters that keep their dtype."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """As nn.Module's, which .to, .cuda and .half come down to; packed parameters only follow to a device."""
        order = list(self._parameters)
        kept = {name: self._parameters.pop(name) for name in self.packed_names if name in order}
        try:
            super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        finally:
            every = {**self._parameters, **kept}
            self._parameters.clear()
            self._parameters.update({name: every[name] for name in order})
        for name, parameter in kept.items():
            if parameter is not None:
                self._parameters[name] = _move(parameter, fn)
        return self


def _move(parameter: nn.Parameter, fn: Callable[[Tensor], Tensor]) -> nn.Parameter:
    """Where `fn` puts it, in its own dtype."""
    with torch.no_grad():
        moved = fn(parameter)
        if moved.dtype != parameter.dtype:
            moved = parameter.to(moved.device)
    return nn.Parameter(moved, requires_grad=False) if moved is not parameter else parameter


def freeze(tensor: Tensor) -> nn.Parameter:
    """A parameter that is not trained."""
    return nn.Parameter(tensor, requires_grad=False)


def describe_fields(**fields: Any) -> str:
    """For extra_repr: "in_features=8, bias=False"."""
    return ", ".join(f"{name}={value}" for name, value in fields.items())
