"""An op with a gradient in its spec → a function whose backward is the gradient's op; the rest is composed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_derivatives import SymbolicZero

from rockiln_jax.calls import OpParams
from rockiln_jax.forms import OpForm, make_form
from rockiln_jax.manual_axes import sum_slope
from rockiln_jax.primitives import bind_call, run_composition


@lru_cache(maxsize=1024)
def make_differentiable(op: str, params: OpParams) -> Any:
    """The op as a function of the arrays that are there, for jax.grad and jax.vjp."""
    function = jax.custom_vjp(partial(bind_call_of, op, params))
    function.defvjp(partial(_run_forward, op, params), partial(_run_backward, op, params), symbolic_zeros=True)
    return function


def bind_call_of(op: str, params: OpParams, *arrays: Array) -> tuple[Array, ...]:
    """The outputs."""
    return bind_call(op, params, arrays)


def _run_forward(op: str, params: OpParams, *primals: Any) -> tuple[tuple[Array, ...], Any]:
    arrays = tuple(primal.value for primal in primals)
    outputs = bind_call(op, params, arrays)
    asked = tuple((jnp.zeros(()),) if primal.perturbed else () for primal in primals)  # the structure is what is read
    return outputs, (arrays, outputs, asked)


def _run_backward(op: str, params: OpParams, residuals: Any, slopes: Sequence[Any]) -> tuple[Any, ...]:
    """Cotangents of the arrays: by the gradient's op, and by the composition where that op has none."""
    arrays, outputs, asked = residuals
    form = make_form(op)
    names = [array.name for array, is_there in zip(form.spec.inputs, params.present, strict=True) if is_there]
    found = {} if _needs_composition(form, slopes) else _run_gradient(form, params, names, arrays, outputs, slopes)
    missing = [
        place
        for place, (name, own) in enumerate(zip(names, asked, strict=True))
        if own and name not in found and jnp.issubdtype(arrays[place].dtype, jnp.inexact)
    ]
    if missing:
        composed = _compose_slopes(form, params, arrays, missing, _fill_slopes(outputs, slopes))
        found |= {names[place]: slope for place, slope in zip(missing, composed, strict=True)}
    return tuple(found.get(name) for name in names)


def _needs_composition(form: OpForm, slopes: Sequence[Any]) -> bool:
    """An output has a slope that the gradient's op does not take: attention's lse."""
    gradient = form.spec.gradient
    assert gradient is not None  # noqa: S101  # only such ops come here
    taken = {source for _, source in gradient.inputs}
    pairs = zip(form.spec.outputs, slopes, strict=True)
    return any(f"grad {output.name}" not in taken and not isinstance(slope, SymbolicZero) for output, slope in pairs)


def _run_gradient(
    form: OpForm, params: OpParams, names: Sequence[str], arrays: Sequence[Array], outputs: Sequence[Array],
    slopes: Sequence[Any],
) -> dict[str, Array]:  # fmt: skip
    gradient = form.spec.gradient
    assert gradient is not None  # noqa: S101
    own = make_form(gradient.op)
    known: dict[str, Any] = dict(zip(names, arrays, strict=True))
    known |= {output.name: value for output, value in zip(form.spec.outputs, outputs, strict=True)}
    filled = zip(form.spec.outputs, _fill_slopes(outputs, slopes), strict=True)
    known |= {f"grad {output.name}": slope for output, slope in filled}
    sources = dict(gradient.inputs)
    given = [known.get(sources[array.name]) for array in own.spec.inputs]
    scalars = dict(zip((item.name for item in form.spec.scalars), params.scalars, strict=True))
    call = OpParams(
        present=tuple(value is not None for value in given),
        scalars=tuple(scalars[item.name] for item in own.spec.scalars),
        dtypes=(),
        copies=params.copies,
    )
    values = bind_call(gradient.op, call, [value for value in given if value is not None])
    targets = dict(gradient.outputs)
    found = {targets[output.name]: value for output, value in zip(own.spec.outputs, values, strict=True)}
    return {name: sum_slope(slope, known[name]) for name, slope in found.items()}


def _fill_slopes(outputs: Sequence[Array], slopes: Sequence[Any]) -> list[Array]:
    return [
        jnp.zeros_like(output) if isinstance(slope, SymbolicZero) else slope
        for output, slope in zip(outputs, slopes, strict=True)
    ]


def _compose_slopes(
    form: OpForm, params: OpParams, arrays: Sequence[Array], places: Sequence[int], slopes: Sequence[Array]
) -> tuple[Array, ...]:
    def run(*varied: Array) -> tuple[Array, ...]:
        own = dict(zip(places, varied, strict=True))
        return run_composition(form, *(own.get(place, array) for place, array in enumerate(arrays)), call=params)

    _, pull = jax.vjp(run, *(arrays[place] for place in places))
    return tuple(pull(tuple(slopes)))
