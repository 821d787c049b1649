"""What one run of an op is given → Case: arrays, scalars, and how exact its answer must be."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from rockiln_kernels.dtypes import DTYPES

Array = np.ndarray[Any, Any]
Match = Literal["tolerance", "bytes", "codes"]
"""tolerance: see tolerance.py. bytes: equal, but for the kind of NaN. codes: rounded outputs, see compare.py."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Inputs by name (rows may be strided), scalars that differ from the defaults, and the rule of comparison."""

    name: str
    arrays: Mapping[str, Array]
    scalars: Mapping[str, Any] = field(default_factory=dict)
    match: Match = "tolerance"
    terms: int = 1
    """How many products or numbers are added up for one output."""
    magnitudes: Mapping[str, Array] = field(default_factory=dict)
    """By output: the sum of the magnitudes of those terms, where cancellation makes |output| a poor measure."""
    is_misaligned: bool = False
    """Input addresses are only as aligned as their elements."""
    row_step: int = 0
    """If not 0: elements from row to row of the inputs that may have any, each row in memory of its own."""


def numpy_dtype(name: str) -> np.dtype[Any]:
    """NumPy's dtype, or ml_dtypes', of one of our names."""
    import ml_dtypes

    own = DTYPES[name].numpy
    return np.dtype(getattr(ml_dtypes, own)) if hasattr(ml_dtypes, own) else np.dtype(own)


def make_generator(*words: str) -> np.random.Generator:
    """Random numbers that depend on `words` alone."""
    return np.random.default_rng(zlib.crc32("/".join(words).encode()))


def draw(generator: np.random.Generator, shape: tuple[int, ...], dtype: str, *, size: float = 1.0) -> Array:
    """Normally distributed numbers, rounded to `dtype`."""
    return (generator.standard_normal(shape) * size).astype(numpy_dtype(dtype))


def stride_rows(array: Array, gap: int) -> Array:
    """The same values with `gap` unused elements (NaN where there is one) after each row, so not contiguous."""
    if array.itemsize == 1 and array.dtype != np.uint8:  # NumPy cannot stride over fp8, but over its bytes
        return stride_rows(array.view(np.uint8), gap).view(array.dtype)
    width = array[0].size + gap
    wide = np.full((array.shape[0], width), 77).astype(array.dtype)
    wide[:, : array[0].size] = array.reshape(array.shape[0], -1)
    inner = tuple(size * array.itemsize for size in _inner_strides(array.shape[1:]))
    return np.lib.stride_tricks.as_strided(wide, array.shape, (width * array.itemsize, *inner))


def _inner_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    steps = [1]
    for size in reversed(shape[1:]):
        steps.append(steps[-1] * size)
    return tuple(reversed(steps))


def make_nan(dtype: np.dtype[Any]) -> Array:
    """The NaN whose bits are all ones: what is added to it to round it makes it a number."""
    return np.frombuffer(b"\xff" * dtype.itemsize, dtype)[0].copy()


def fill_special_rows(array: Array) -> Array:
    """NaN, both infinities, negative zeros, zeros and subnormals, a kind to each row; the NaN is make_nan's."""
    result = array.copy()
    finest = float(np.finfo(np.float32).tiny) if array.dtype == np.float32 else 2.0**-15
    rows = (np.nan, np.inf, -np.inf, -0.0, 0.0, finest / 2.0)
    for row, value in zip(result.reshape(result.shape[0], -1), rows, strict=False):
        if np.isnan(value):
            row[row.size // 2] = make_nan(array.dtype)
        elif np.isfinite(value):
            row[:] = value
        else:
            row[row.size // 2] = value
    return result
