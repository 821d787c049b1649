"""An op's name → a function, made of its spec when first asked for: rockiln_jax.ops.rms_norm(x, weight, eps=1e-5).

Arrays come in the spec's order, scalars by keyword; scalars are Python numbers, since they decide the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
from jax import Array
from jax.core import Tracer

from rockiln_jax.calls import OpParams
from rockiln_jax.dtypes import name_dtype
from rockiln_jax.forms import OpForm, describe_op, make_form, name_symbol
from rockiln_jax.gradients import make_differentiable
from rockiln_jax.primitives import apply_call, bind_call
from rockiln_kernels.table import read_table


def call_op(op: str, *arrays: Any, copies: int = 1, **words: Any) -> Any:
    """An op by name: its output, or a tuple of them. Raises TypeError and ValueError, with the rule that is broken.

    `copies`: packed sequences and their rows come in so many equal parts, which devices may share.
    """
    form, params, given = bind_words(op, arrays, words)
    params = replace(params, copies=copies) if copies != 1 else params
    there = [make_array(op, *item) for item in zip(form.name_given(params.present), given, strict=True)]
    if not any(isinstance(array, Tracer) for array in there):  # values: nothing is traced, so nothing is differentiated
        outputs = apply_call(op, params, there)
    else:
        outputs = make_differentiable(op, params)(*there) if form.spec.gradient else bind_call(op, params, there)
    return outputs if len(outputs) > 1 else outputs[0]


def make_array(op: str, name: str, value: Any) -> Array:
    """What JAX makes of an argument. Raises TypeError for what is no array."""
    if isinstance(value, Array):
        return value
    try:
        return jnp.asarray(value)
    except (TypeError, ValueError) as error:
        kind = type(value).__name__
        raise TypeError(f"{op}: {name} is a {kind}, of which JAX makes no array: {error}") from error


def bind_words(op: str, arrays: tuple[Any, ...], words: dict[str, Any]) -> tuple[OpForm, OpParams, list[Any]]:
    """The op's form, what its primitive carries, and the arrays that are there. Raises TypeError."""
    form = make_form(op)
    values = form.bind_arguments(arrays, words)
    params = OpParams(
        present=tuple(values[array.name] is not None for array in form.spec.inputs),
        scalars=form.bind_scalars(values, name_symbol),
        dtypes=form.name_dtypes(values, name_dtype),
    )
    return form, params, [values[array.name] for array in form.spec.inputs if values[array.name] is not None]


@lru_cache(maxsize=256)
def make_function(op: str) -> Callable[..., Any]:
    """The function of an op, with its signature and documentation."""
    form = make_form(op)

    def function(*arrays: Any, **words: Any) -> Any:
        return call_op(op, *arrays, **words)

    function.__name__ = function.__qualname__ = op
    function.__module__ = __name__
    function.__doc__ = describe_op(form)
    function.__signature__ = form.signature  # type: ignore[attr-defined]  # what inspect looks for
    return function


def __getattr__(name: str) -> Any:
    """The function of an op of the table."""
    if name in read_table():
        return make_function(name)
    raise AttributeError(f"module {__name__} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*read_table(), "call_op"]
