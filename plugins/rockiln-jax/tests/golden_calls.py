"""A golden case → the op as a function of JAX's arrays, and arrays of like kind that differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rockiln_jax.forms import make_form
from rockiln_jax.ops import call_op
from rockiln_kernels.golden import GoldenCase, read_golden

Call = Callable[..., tuple[jax.Array, ...]]
FLOATS = {"float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}
"""Dtypes, and what two ways may differ by, as a part of the largest value."""


def pick_case(op: str, rotation: int) -> GoldenCase:
    """One of the op's cases by rotation, more than one row where there is one; NaN and infinities are made 0."""
    cases = [case for case in read_golden(op) if all(array.size for array in case.inputs.values())]
    plain = [case for case in cases if not any(word in case.name for word in ("tiny", "special"))] or cases
    chosen = plain[rotation % len(plain)]
    return replace(chosen, inputs={name: _make_finite(array) for name, array in chosen.inputs.items()})


def _make_finite(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype.kind in "iu":
        return array
    wide = array.astype(np.float32)
    return np.where(np.isfinite(wide), wide, 0).astype(array.dtype)


def make_call(case: GoldenCase) -> tuple[Call, tuple[jax.Array, ...]]:
    """The op as a function of the arrays that the case has, and those."""
    form = make_form(case.op)
    names = [array.name for array in form.spec.inputs if array.name in case.inputs]
    words: dict[str, Any] = dict(case.scalars)
    words |= {"out_dtype": case.dtypes[form.dtype_axis]} if form.dtype_axis else {}
    words |= {"fp6_format": case.dtypes[form.format_axis]} if form.format_axis else {}

    def call(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        given = dict(zip(names, arrays, strict=True))
        outputs = call_op(case.op, *(given.get(array.name) for array in form.spec.inputs), **words)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    return call, tuple(jnp.asarray(case.inputs[name]) for name in names)


def stack_like(arrays: tuple[jax.Array, ...], count: int) -> tuple[jax.Array, ...]:
    """[count, ...] of each: floats and codes moved along by one each time; numbers that name places as they are."""
    return tuple(jnp.stack([_move(array, place) for place in range(count)]) for array in arrays)


def _move(array: jax.Array, place: int) -> jax.Array:
    return array if jnp.issubdtype(array.dtype, jnp.int32) else jnp.roll(array.reshape(-1), place).reshape(array.shape)


def find_difference(got: jax.Array, wanted: jax.Array) -> str:
    """In words, or "": floats within FLOATS, codes equal but for a hundredth of them."""
    if (got.shape, got.dtype) != (wanted.shape, wanted.dtype):
        return f"{got.dtype}{got.shape}, not {wanted.dtype}{wanted.shape}"
    own, other = np.asarray(got), np.asarray(wanted)
    if own.tobytes() == other.tobytes():
        return ""
    if str(got.dtype) not in FLOATS:
        share = float(np.mean(own.view(f"u{own.itemsize}") != other.view(f"u{own.itemsize}")))
        return f"{share:.3f} of the codes differ" if share > max(0.01, 2 / own.size) else ""
    wide, expected = own.astype(np.float64), other.astype(np.float64)
    known = np.isfinite(expected)
    limit = FLOATS[str(got.dtype)] * np.abs(expected[known]).max(initial=0)
    far = np.abs(wide[known] - expected[known]).max(initial=0)
    return f"off by {far}, {limit} are allowed" if far > limit or (np.isfinite(wide) != known).any() else ""
