"""A golden case → its call of rockiln_tensorflow.ops, on tensors of the case or on given ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from rockiln_kernels.golden import GoldenCase
from rockiln_tensorflow.forms import make_form
from rockiln_tensorflow.ops import call_op

Call = Callable[..., tuple[tf.Tensor, ...]]
FLOATS = {"float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}
"""Dtypes, and what two ways may differ by, as a part of the largest value."""


def make_call(case: GoldenCase) -> tuple[Call, tuple[tf.Tensor, ...]]:
    """The op as a function of the tensors that the case has, and those."""
    form = make_form(case.op)
    names = [array.name for array in form.spec.inputs if array.name in case.inputs]
    words: dict[str, Any] = dict(case.scalars)
    words |= {"out_dtype": case.dtypes[form.dtype_axis]} if form.dtype_axis else {}
    words |= {"fp6_format": case.dtypes[form.format_axis]} if form.format_axis else {}

    def call(*tensors: tf.Tensor) -> tuple[tf.Tensor, ...]:
        given = dict(zip(names, tensors, strict=True))
        outputs = call_op(case.op, *(given.get(array.name) for array in form.spec.inputs), **words)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    return call, tuple(tf.constant(case.inputs[name]) for name in names)


def call_case(case: GoldenCase) -> tuple[tf.Tensor, ...]:
    """Its outputs, eagerly."""
    call, tensors = make_call(case)
    return call(*tensors)


def find_difference(got: Any, wanted: Any) -> str:
    """In words, or "": floats within FLOATS, codes equal but for a hundredth of them."""
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
