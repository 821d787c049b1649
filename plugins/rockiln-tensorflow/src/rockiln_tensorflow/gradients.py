"""Gradients of the registry's ops: by the gradient's op of the spec, and the rest by the composition's own slopes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import tensorflow as tf

from rockiln_kernels.table import read_table
from rockiln_tensorflow.calls import OpParams
from rockiln_tensorflow.composed import Tensor
from rockiln_tensorflow.dtypes import name_dtype
from rockiln_tensorflow.forms import OpForm, make_form, name_op_type


@lru_cache(maxsize=1)
def register_gradients() -> None:
    """For tf.GradientTape and tf.gradients; a saved model that is loaded needs them, too."""
    for op in read_table():
        tf.RegisterGradient(name_op_type(op))(partial(differentiate, make_form(op)))
    tf.no_gradient("RockilnServes")
    tf.no_gradient("RockilnBitcast")


def differentiate(form: OpForm, op: Any, *slopes: Tensor | None) -> list[Tensor | None]:
    """Slopes of the op's inputs, None of those that have none."""
    params = read_params(form, op)
    tensors, outputs = list(op.inputs), list(op.outputs)
    filled = [_fill(output, slope) for output, slope in zip(outputs, slopes, strict=True)]
    varied = [place for place, tensor in enumerate(tensors) if tensor.dtype in {tf.float32, tf.float16, tf.bfloat16}]
    if form.spec.gradient is None:
        return _compose_slopes(form, params, tensors, varied, filled)
    strange = [slope for slope, output in zip(filled, form.spec.outputs, strict=True) if _is_strange(form, output.name)]
    run_own = partial(_run_gradient, form, params, tensors, outputs, varied, filled)
    compose_own = partial(_compose_slopes, form, params, tensors, varied, filled)
    return _choose(strange, tensors, varied, run_own, compose_own)


def read_params(form: OpForm, op: Any) -> OpParams:
    """What a call carried, from the attributes of its op."""
    spec = form.spec
    scalars = {item.name: op.get_attr(item.name) for item in spec.scalars}
    fixed = dict(form.fixed)
    dtypes = []
    for axis in form.open_axes:
        own = fixed.get(axis) or op.get_attr(axis)
        dtypes.append(
            (own.decode() if isinstance(own, bytes) else own) if axis == form.format_axis else name_dtype(own)
        )
    return OpParams(
        present=tuple(not item.optional or op.get_attr(f"{item.name}_count") > 0 for item in spec.inputs),
        scalars=form.bind_scalars(scalars),
        dtypes=tuple(fixed.get(axis, name) for axis, name in zip(form.open_axes, dtypes, strict=True)),
    )


def _fill(output: Tensor, slope: Tensor | None) -> Tensor:
    return tf.zeros_like(output) if slope is None and output.dtype.is_floating else slope


def _is_strange(form: OpForm, output: str) -> bool:
    """The gradient's op does not take this output's slope: attention's lse."""
    assert form.spec.gradient is not None  # noqa: S101  # only such ops come here
    return f"grad {output}" not in {source for _, source in form.spec.gradient.inputs}


def _choose(
    strange: Sequence[Tensor], tensors: Sequence[Tensor], varied: Sequence[int], run_own: Any, compose_own: Any
) -> list[Tensor | None]:
    """By the gradient's op where the slopes that it does not take are 0, which may be known only when it runs."""
    known = [tf.get_static_value(slope) for slope in strange]
    if any(value is not None and np.any(value) for value in known):
        return list(compose_own())
    unknown = [slope for slope, value in zip(strange, known, strict=True) if value is None]
    if not unknown:
        return list(run_own())
    is_zero = tf.reduce_all([tf.reduce_all(slope == 0) for slope in unknown])

    def fill(make: Any) -> list[Tensor]:
        slopes = make()
        return [tf.zeros_like(tensors[place]) if slopes[place] is None else slopes[place] for place in varied]

    found = tf.cond(is_zero, partial(fill, run_own), partial(fill, compose_own))
    by_place = dict(zip(varied, found, strict=True))
    return [by_place.get(place) for place in range(len(tensors))]


def _run_gradient(  # all that a gradient has
    form: OpForm, params: OpParams, tensors: Sequence[Tensor], outputs: Sequence[Tensor], varied: Sequence[int],
    slopes: Sequence[Tensor],
) -> list[Tensor | None]:  # fmt: skip
    from rockiln_tensorflow.routing import run_call

    gradient = form.spec.gradient
    assert gradient is not None  # noqa: S101
    own = make_form(gradient.op)
    names = [array.name for array, is_there in zip(form.spec.inputs, params.present, strict=True) if is_there]
    known: dict[str, Any] = dict(zip(names, tensors, strict=True))
    known |= {output.name: value for output, value in zip(form.spec.outputs, outputs, strict=True)}
    known |= {f"grad {output.name}": slope for output, slope in zip(form.spec.outputs, slopes, strict=True)}
    sources, scalars = (
        dict(gradient.inputs),
        dict(zip((item.name for item in form.spec.scalars), params.scalars, strict=True)),
    )
    given = [known.get(sources[array.name]) for array in own.spec.inputs]
    call = OpParams(
        present=tuple(value is not None for value in given),
        scalars=tuple(scalars[item.name] for item in own.spec.scalars),
        dtypes=(),
    )
    values = run_call(own, call, [value for value in given if value is not None])
    targets = dict(gradient.outputs)
    found = {targets[output.name]: value for output, value in zip(own.spec.outputs, values, strict=True)}
    missing = [place for place in varied if names[place] not in found]
    composed = _compose_slopes(form, params, tensors, missing, slopes) if missing else [None] * len(tensors)
    return [found.get(name, composed[place]) for place, name in enumerate(names)]


def _compose_slopes(
    form: OpForm, params: OpParams, tensors: Sequence[Tensor], places: Sequence[int], slopes: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """Slopes of the inputs at `places` by the composition, which is computed again."""
    from rockiln_tensorflow.routing import run_composition

    with tf.GradientTape(persistent=False) as tape:
        own = [tf.identity(tensor) for tensor in tensors]
        for place in places:
            tape.watch(own[place])
        outputs = run_composition(form, params, own)
    pairs = [(output, slope) for output, slope in zip(outputs, slopes, strict=True) if slope is not None]
    numbers = [(output, slope) for output, slope in pairs if output.dtype in {tf.float32, tf.float16, tf.bfloat16}]
    found = tape.gradient(
        [output for output, _ in numbers], [own[place] for place in places], [slope for _, slope in numbers]
    )
    by_place = dict(zip(places, found, strict=True))
    return [by_place.get(place) for place in range(len(tensors))]
