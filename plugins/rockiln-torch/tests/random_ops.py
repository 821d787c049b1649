"""An op + random numbers → a call of small tensors: of any layout, some empty, some that are no call of the op."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import torch

from rockiln_kernels.expressions import evaluate_expression, read_names
from rockiln_kernels.spec import ArraySpec
from rockiln_torch.dtypes import TORCH_DTYPES
from rockiln_torch.forms import OpForm

_DIMS = {
    "D": (8, 16, 64), "DV": (8, 16), "R": (4, 8), "H": (1, 2), "HQ": (1, 2, 4), "HK": (1, 2), "B": (1, 2, 3),
    "B1": (2, 3), "BS": (1, 4, 16), "NB": (1, 3, 8), "MB": (1, 2), "E": (1, 4, 8), "top": (1, 2), "W": (576, 576, 64),
    "L": (0, 1, 2),
    "N2": (2, 64, 128), "KH": (16, 32, 64), "P": (1, 5),
}  # fmt: skip
_ANY = (0, 1, 2, 3, 5, 8, 32, 32, 64, 64, 96, 128, 130)
_INTEGERS = {
    "positions": lambda names: (0, max(names.get("P", 1), 1)),
    "block_tables": lambda names: (0, max(names.get("NB", 1), 1)),
    "context_lens": lambda names: (0, names.get("MB", 1) * names.get("BS", 1) + 1),
    "ids": lambda names: (-1, names.get("E", 4) + 1),
}
"""Integers that an op takes as places: from, and below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomCall:
    """Arguments of torch.ops.rockiln, and how they were spoiled ("" if they were not)."""

    tensors: tuple[torch.Tensor | None, ...]
    words: dict[str, Any]
    spoiled: str


def draw_call(form: OpForm, random: Random) -> RandomCall:
    """One call; most fit the op."""
    spec = form.spec
    cell = spec.cell_dtypes(random.choice(spec.cells))
    names: dict[str, Any] = {}
    scalars = {item.name: _draw_scalar(item.kind, item.default, random) for item in spec.scalars}
    names.update({name: value for name, value in scalars.items() if isinstance(value, int)})
    drawn: dict[str, torch.Tensor | None] = {}
    for array in sorted(spec.inputs, key=lambda item: not all(dim.isidentifier() for dim in item.dims)):
        is_there = not array.optional or random.random() < 0.5
        drawn[array.name] = _draw_tensor(array, cell, names, random) if is_there else None
    words: dict[str, Any] = dict(scalars)
    if form.dtype_axis:
        words["out_dtype"] = TORCH_DTYPES[cell[form.dtype_axis]]
    if form.format_axis:
        words["fp6_format"] = form.formats.index(cell[form.format_axis])
    tensors = [drawn[array.name] for array in spec.inputs]
    spoiled = _spoil(tensors, random) if random.random() < 0.15 else ""
    return RandomCall(tensors=tuple(tensors), words=words, spoiled=spoiled)


def _draw_scalar(kind: str, default: Any, random: Random) -> Any:
    if default is not None and random.random() < 0.7:
        return default
    if kind == "bool":
        return random.random() < 0.5
    return random.uniform(0, 2) if kind == "f32" else random.choice((0, 1, 1, 2, 2, 4, 8))


def _draw_dim(dim: str, names: dict[str, Any], random: Random) -> int:
    if not dim.isidentifier():
        return int(evaluate_expression(dim, names)) if read_names(dim) <= names.keys() else random.randrange(4)
    if dim not in names:
        names[dim] = random.choice(_DIMS.get(dim, _ANY) if random.random() < 0.95 else _ANY)
    return int(names[dim])


def _draw_tensor(array: ArraySpec, cell: dict[str, str], names: dict[str, Any], random: Random) -> torch.Tensor:
    shape = [_draw_dim(dim, names, random) for dim in array.dims]
    dtype = TORCH_DTYPES[cell.get(array.dtype, array.dtype)]
    tensor = _draw_values(array, shape, dtype, names)
    return _lay_out(tensor, random)


def _draw_values(array: ArraySpec, shape: list[int], dtype: torch.dtype, names: dict[str, Any]) -> torch.Tensor:
    if array.name.startswith("cu_seqlens"):
        total = names["TQ" if array.name.endswith("q") else "TK"]
        return torch.tensor([total * place // max(shape[0] - 1, 1) for place in range(shape[0])], dtype=dtype)
    if dtype is torch.int32:
        low, high = _INTEGERS.get(array.name, lambda _: (0, 4))(names)
        return torch.randint(low, max(high, low + 1), shape, dtype=dtype)
    if dtype is torch.uint8:
        low, high = (120, 131) if array.name.endswith("scale") else (0, 120)
        return torch.randint(low, high, shape, dtype=dtype)
    return torch.randn(shape).abs().add(0.1).to(dtype) if array.name.endswith("scale") else torch.randn(shape).to(dtype)


def _lay_out(tensor: torch.Tensor, random: Random) -> torch.Tensor:
    """The same values: as they are, with gaps behind rows or between elements, transposed, or one row many times."""
    kind = random.randrange(8)
    if not tensor.dim() or not tensor.numel() or kind < 4:
        return tensor
    if kind == 4:
        wide = tensor.new_zeros((*tensor.shape[:-1], tensor.shape[-1] + 3))
        wide[..., : tensor.shape[-1]] = tensor
        return wide[..., : tensor.shape[-1]]
    if kind == 5:
        wide = tensor.new_zeros((*tensor.shape[:-1], 2 * tensor.shape[-1]))
        wide[..., ::2] = tensor
        return wide[..., ::2]
    if kind == 6:
        return tensor.transpose(0, -1).contiguous().transpose(0, -1)
    return tensor[:1].expand(tensor.shape) if tensor.dtype is not torch.int32 else tensor


def _spoil(tensors: list[torch.Tensor | None], random: Random) -> str:
    """Something about one tensor that its op may not take."""
    places = [place for place, tensor in enumerate(tensors) if tensor is not None]
    place = random.choice(places)
    how = random.choice(sorted(_SPOILERS))
    tensor = tensors[place]
    assert tensor is not None
    tensors[place] = _SPOILERS[how](tensor)
    return how


_SPOILERS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "dtype": lambda tensor: tensor.to(torch.int64),
    "wide": lambda tensor: tensor.to(torch.float64),
    "rank": lambda tensor: tensor[None],
    "flat": lambda tensor: tensor.flatten(),
    "longer": lambda tensor: tensor.new_zeros((2 * tensor.shape[0] + 1, *tensor.shape[1:])),
    "empty": lambda tensor: tensor[:0],
    "device": lambda tensor: tensor.to("meta"),
}
