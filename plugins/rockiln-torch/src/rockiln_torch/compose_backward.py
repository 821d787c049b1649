"""A composition's gradients as one op, torch.ops.rockiln.compose_backward → gradients: opaque to whoever traces it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import torch

from rockiln_torch.compose import find_composition
from rockiln_torch.forms import read_forms

NAME = "compose_backward"
_SCHEMA = (
    f"{NAME}(str op, Tensor?[] tensors, Tensor?[] slopes, bool[] needs, float[] floats, SymInt[] integers) -> Tensor[]"
)


@lru_cache(maxsize=1)
def define_backward() -> torch.library.Library:
    """Define it, once a process; lives as long as what is returned."""
    library = torch.library.Library("rockiln", "FRAGMENT")
    library.define(_SCHEMA)
    library.impl(NAME, _differentiate, "CompositeExplicitAutograd")
    library.impl(NAME, torch.library.fallthrough_kernel, "Autograd")  # so that autograd is on within it
    library.impl(NAME, _make_fake, "Meta")
    return library


def withdraw_backward() -> None:
    """Take it back."""
    if define_backward.cache_info().currsize:
        define_backward()._destroy()  # noqa: SLF001  # the only way that torch has
        define_backward.cache_clear()


def differentiate(
    op: str,
    tensors: Sequence[torch.Tensor | None],
    scalars: Mapping[str, Any],
    slopes: Sequence[torch.Tensor | None],
    needs: Sequence[bool],
) -> tuple[torch.Tensor | None, ...]:
    """Gradients of the tensors that are needed, None for the others. `slopes`: of the outputs, None for 0."""
    define_backward()
    kinds = {scalar.name: scalar.kind for scalar in read_forms()[op].spec.scalars}
    floats = [value for name, value in scalars.items() if kinds[name] == "f32"]
    whole = [(name, value) for name, value in scalars.items() if kinds[name] != "f32"]
    integers = [value if kinds[name] == "i32" else int(value) for name, value in whole]
    made = iter(torch.ops.rockiln.compose_backward(op, tensors, slopes, needs, floats, integers))
    return tuple(next(made) if need else None for need in needs)


def _read_scalars(op: str, floats: Sequence[float], integers: Sequence[int]) -> dict[str, Any]:
    numbers, whole = iter(floats), iter(integers)
    casts = {"f32": float, "i32": int, "bool": bool}
    return {
        scalar.name: casts[scalar.kind](next(numbers if scalar.kind == "f32" else whole))
        for scalar in read_forms()[op].spec.scalars
    }


def _differentiate(
    op: str,
    tensors: Sequence[torch.Tensor | None],
    slopes: Sequence[torch.Tensor | None],
    needs: Sequence[bool],
    floats: Sequence[float],
    integers: Sequence[int],
) -> list[torch.Tensor]:
    """Run the composition again, with autograd on."""
    with torch.enable_grad():
        leaves = [
            None if tensor is None else tensor.detach().requires_grad_(need)
            for tensor, need in zip(tensors, needs, strict=True)
        ]
        again = find_composition(op)(*leaves, **_read_scalars(op, floats, integers))
    pairs = [(value, slope) for value, slope in zip(again, slopes, strict=True) if slope is not None]
    pairs = [(value, slope) for value, slope in pairs if value.requires_grad]
    wanted = [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]
    if not pairs:
        return [torch.zeros_like(leaf) for leaf in wanted]
    values, given = zip(*pairs, strict=True)
    made: Sequence[torch.Tensor | None] = torch.autograd.grad(values, wanted, given, allow_unused=True)
    return [
        torch.zeros_like(leaf) if value is None else value.contiguous()
        for leaf, value in zip(wanted, made, strict=True)
    ]


def _make_fake(
    _op: str, tensors: Sequence[torch.Tensor | None], _slopes: Any, needs: Sequence[bool], *_scalars: Any
) -> list[torch.Tensor]:
    wanted = [tensor for tensor, need in zip(tensors, needs, strict=True) if need and tensor is not None]
    return [torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device) for tensor in wanted]
