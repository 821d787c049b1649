"""A golden case → the op as a function of JAX's arrays, and arrays of like kind that differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp

from harness.framework_calls import list_words, make_finite
from rockiln_jax.forms import make_form
from rockiln_jax.ops import call_op
from rockiln_kernels.golden import GoldenCase, read_golden

Call = Callable[..., tuple[jax.Array, ...]]


def pick_case(op: str, rotation: int) -> GoldenCase:
    """One of the op's cases by rotation, more than one row where there is one; NaN and infinities are made 0."""
    cases = [case for case in read_golden(op) if all(array.size for array in case.inputs.values())]
    plain = [case for case in cases if not any(word in case.name for word in ("tiny", "special"))] or cases
    chosen = plain[rotation % len(plain)]
    return replace(chosen, inputs={name: make_finite(array) for name, array in chosen.inputs.items()})


def make_call(case: GoldenCase) -> tuple[Call, tuple[jax.Array, ...]]:
    """The op as a function of the arrays that the case has, and those."""
    form = make_form(case.op)
    names = [array.name for array in form.spec.inputs if array.name in case.inputs]
    words = list_words(case)

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
