"""A golden case → torch tensors and keywords of the op, and its outputs back as NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from rockiln_kernels.golden import GoldenCase
from rockiln_kernels.table import read_table
from rockiln_torch.dtypes import TORCH_DTYPES
from rockiln_torch.forms import make_form

_BITS = {1: (np.uint8, torch.uint8), 2: (np.uint16, torch.uint16)}


def make_tensor(array: np.ndarray[Any, Any], dtype: str) -> torch.Tensor:
    """The same bits."""
    if array.dtype.kind in "iu" or array.dtype in {np.dtype(np.float32), np.dtype(np.float16)}:
        return torch.from_numpy(array.copy())
    own, other = _BITS[array.itemsize]
    return torch.from_numpy(array.view(own).copy()).view(other).view(TORCH_DTYPES[dtype])


def make_array(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """The same bits: unsigned numbers where NumPy lacks the dtype."""
    if tensor.dtype in {torch.float32, torch.float16, torch.int32, torch.uint8, torch.int64}:
        return tensor.numpy()
    return tensor.contiguous().view({1: torch.uint8, 2: torch.uint16}[tensor.element_size()]).numpy()


def make_words(case: GoldenCase) -> dict[str, Any]:
    """Scalars and dtypes by keyword, as compositions take them."""
    form = make_form(read_table()[case.op])
    words = dict(case.scalars)
    if form.dtype_axis:
        words["out_dtype"] = TORCH_DTYPES[case.dtypes[form.dtype_axis]]
    if form.format_axis:
        words["format"] = case.dtypes[form.format_axis]
    return words


def make_tensors(case: GoldenCase) -> tuple[torch.Tensor | None, ...]:
    """Inputs in the spec's order."""
    spec = read_table()[case.op]
    return tuple(
        make_tensor(case.inputs[array.name], case.dtypes.get(array.dtype, array.dtype))
        if array.name in case.inputs
        else None
        for array in spec.inputs
    )


def name_outputs(case: GoldenCase, outputs: tuple[torch.Tensor, ...]) -> Mapping[str, np.ndarray[Any, Any]]:
    """Arrays by the spec's names."""
    names = [array.name for array in read_table()[case.op].outputs]
    return {name: make_array(output) for name, output in zip(names, outputs, strict=True)}
