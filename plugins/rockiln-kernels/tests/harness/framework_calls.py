"""A golden case → the words of its call in JAX or TensorFlow, and finite arrays; two outputs → how they differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.case import Array
from rockiln_kernels.forms import make_form
from rockiln_kernels.golden import GoldenCase

FLOATS = {"float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}
"""Dtypes, and what two ways may differ by, as a part of the largest value."""


def list_words(case: GoldenCase) -> dict[str, Any]:
    """What is given by keyword: the scalars, and dtypes that no input decides."""
    form = make_form(case.op)
    words: dict[str, Any] = dict(case.scalars)
    words |= {"out_dtype": case.dtypes[form.dtype_axis]} if form.dtype_axis else {}
    return words | ({"fp6_format": case.dtypes[form.format_axis]} if form.format_axis else {})


def make_finite(array: Array) -> Array:
    """NaN and infinities made 0."""
    if array.dtype.kind in "iu":
        return array
    wide = array.astype(np.float32)
    return np.where(np.isfinite(wide), wide, 0).astype(array.dtype)


def find_difference(got: Any, wanted: Any) -> str:
    """In words, or "": floats within FLOATS, codes equal but for a hundredth of them. Any framework's arrays."""
    own, other = np.asarray(got), np.asarray(wanted)
    if (own.shape, own.dtype) != (other.shape, other.dtype):
        return f"{own.dtype}{own.shape}, not {other.dtype}{other.shape}"
    if own.tobytes() == other.tobytes():
        return ""
    if str(own.dtype) not in FLOATS:
        share = float(np.mean(own.view(f"u{own.itemsize}") != other.view(f"u{own.itemsize}")))
        return f"{share:.3f} of the codes differ" if share > max(0.01, 2 / own.size) else ""
    wide, expected = own.astype(np.float64), other.astype(np.float64)
    known = np.isfinite(expected)
    limit = FLOATS[str(own.dtype)] * np.abs(expected[known]).max(initial=0)
    far = np.abs(wide[known] - expected[known]).max(initial=0)
    return f"off by {far}, {limit} are allowed" if far > limit or (np.isfinite(wide) != known).any() else ""
