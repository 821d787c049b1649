"""A call that make_packs.py stored → torch tensors, keywords, and the bytes that its outputs must be."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rockiln_kernels.spec import ArraySpec
from rockiln_torch.dtypes import TORCH_DTYPES
from rockiln_torch.forms import OpForm, read_forms


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCall:
    """One call; `expected` by output, the bytes that gfxemu alone computed."""

    variant: str
    form: OpForm
    tensors: tuple[torch.Tensor | None, ...]
    words: dict[str, Any]
    expected: dict[str, bytes]

    def call(self) -> tuple[torch.Tensor, ...]:
        """torch.ops.rockiln, its outputs always a tuple."""
        result = getattr(torch.ops.rockiln, self.form.spec.name)(*self.tensors, **self.words)
        return result if isinstance(result, tuple) else (result,)


def read_stored(path: Path) -> StoredCall:
    """One file."""
    stored = np.load(path)
    facts = json.loads(str(stored["facts"]))
    form = read_forms()[facts["op"]]
    words = dict(facts["scalars"])
    if form.dtype_axis:
        words["out_dtype"] = TORCH_DTYPES[facts["dtypes"][form.dtype_axis]]
    if form.format_axis:
        words["fp6_format"] = form.formats.index(facts["dtypes"][form.format_axis])
    tensors = tuple(
        _make_tensor(stored[f"in_{array.name}"], array, facts) if f"in_{array.name}" in stored else None
        for array in form.spec.inputs
    )
    expected = {output.name: stored[f"out_{output.name}"].tobytes() for output in form.spec.outputs}
    return StoredCall(variant=facts["variant"], form=form, tensors=tensors, words=words, expected=expected)


def _make_tensor(bits: np.ndarray[Any, Any], array: ArraySpec, facts: dict[str, Any]) -> torch.Tensor:
    """The values with the strides that the case has, in memory that begins at a multiple of 256."""
    dtype = TORCH_DTYPES[facts["dtypes"].get(array.dtype, array.dtype)]
    shape, strides = facts["shapes"][array.name], facts["strides"][array.name]
    count = 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True)) if bits.size else 0
    room = torch.full((count * dtype.itemsize + 512,), 0x77, dtype=torch.uint8)
    offset = -room.data_ptr() % 256
    flat = room[offset : offset + count * dtype.itemsize].view(dtype)
    tensor = flat.as_strided(shape, strides)
    if bits.size:
        unsigned = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
        source = torch.from_numpy(bits.view(f"i{bits.itemsize}" if bits.itemsize > 1 else "u1").copy())
        flat.view(unsigned).as_strided(shape, strides).copy_(source.view(shape))
    return tensor
