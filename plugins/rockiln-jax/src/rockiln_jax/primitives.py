"""An op → its JAX primitive: shapes by the OpSpec, jax.numpy on any platform, one custom call where a pack runs it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import numpy as np
from jax import Array
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from rockiln_jax.calls import OpParams, infer_outputs, is_wide
from rockiln_jax.composed import compose
from rockiln_jax.dtypes import JAX_DTYPES
from rockiln_jax.forms import OpForm, make_form
from rockiln_jax.lowering import list_platforms, lower_call, lower_composition
from rockiln_jax.manual_axes import allow_replication_check, drop_axes, find_varying, match_varying, show_devices
from rockiln_jax.packed_batch import can_pack, pack_calls


@lru_cache(maxsize=256)
def make_primitive(op: str) -> Primitive:
    """The primitive of an op, with all its rules; it takes the arrays that are there, and `call`, an OpParams."""
    form, primitive = make_form(op), Primitive(f"rockiln_{op}")
    primitive.multiple_results = True
    composition = _forget_axes(mlir.lower_fun(partial(run_composition, form), multiple_results=True))
    primitive.def_impl(partial(_apply, op))
    primitive.def_abstract_eval(partial(_infer, form))
    mlir.register_lowering(primitive, partial(lower_composition, form, composition))
    for platform in list_platforms():
        mlir.register_lowering(primitive, partial(lower_call, form, platform, composition), platform=platform)
    ad.primitive_jvps[primitive] = partial(_differentiate, op)
    batching.primitive_batchers[primitive] = partial(_batch, op)
    allow_replication_check(primitive)
    show_devices(primitive)
    return primitive


def bind_call(op: str, params: OpParams, arrays: Sequence[Any]) -> tuple[Array, ...]:
    """The outputs. Raises TypeError or ValueError for what is no call of the op."""
    return tuple(make_primitive(op).bind(*match_varying(arrays), call=params))


def run_composition(form: OpForm, *arrays: Array, call: OpParams) -> tuple[Array, ...]:
    """The same by jax.numpy."""
    scalars = dict(zip((item.name for item in form.spec.scalars), call.scalars, strict=True))
    dtypes = dict(zip(form.open_axes, call.dtypes, strict=True))
    return compose(form.spec.name)(*call.spread(arrays), **scalars, **dtypes)


def _forget_axes(rule: Any) -> Any:
    """The lowering rule, of arrays that no longer say along which mesh axes they vary: XLA has no use for it."""

    def lower(ctx: Any, *operands: Any, **words: Any) -> Any:
        plain = {name: [drop_axes(aval) for aval in getattr(ctx, name)] for name in ("avals_in", "avals_out")}
        return rule(ctx.replace(**plain), *operands, **words)

    return lower


def apply_call(op: str, params: OpParams, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """The outputs of arrays that hold values: compiled, and found again by shapes; with jax.disable_jit, composed."""
    if jax.config.jax_disable_jit:  # type: ignore[attr-defined]
        infer_outputs(make_form(op), params, arrays)
        return run_composition(make_form(op), *arrays, call=params)
    outputs: tuple[Array, ...] = _apply_compiled(op, params, *arrays)
    return outputs


@partial(jax.jit, static_argnums=(0, 1))
def _apply_compiled(op: str, call: OpParams, *arrays: Array) -> tuple[Array, ...]:
    return bind_call(op, call, arrays)


def _apply(op: str, *arrays: Array, call: OpParams) -> tuple[Array, ...]:
    return apply_call(op, call, arrays)


def _infer(form: OpForm, *arrays: Any, call: OpParams) -> tuple[ShapedArray, ...]:
    outputs, varying = infer_outputs(form, call, arrays), find_varying(arrays)
    if is_wide(arrays):
        shapes = jax.eval_shape(partial(run_composition, form, call=call), *arrays)
        return tuple(ShapedArray(item.shape, item.dtype, vma=varying) for item in shapes)
    return tuple(ShapedArray(item.shape, JAX_DTYPES[item.dtype], vma=varying) for item in outputs)


def _differentiate(
    op: str, primals: Sequence[Any], tangents: Sequence[Any], *, call: OpParams
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The outputs by the op itself, their tangents by its composition."""
    outputs = bind_call(op, call, primals)
    own = [
        _make_zero(primal) if isinstance(tangent, ad.Zero) else tangent
        for primal, tangent in zip(primals, tangents, strict=True)
    ]
    _, found = jax.jvp(partial(run_composition, make_form(op), call=call), tuple(primals), tuple(own))
    return outputs, tuple(
        tangent if jax.numpy.issubdtype(output.dtype, jax.numpy.inexact) else ad.Zero.from_primal_value(output)
        for output, tangent in zip(outputs, found, strict=True)
    )


def _make_zero(primal: Any) -> Any:
    if jax.numpy.issubdtype(primal.dtype, jax.numpy.inexact):
        return jax.numpy.zeros_like(primal)
    return np.zeros(primal.shape, jax.dtypes.float0)


def _batch(op: str, arrays: Sequence[Any], places: Sequence[Any], *, call: OpParams) -> tuple[Any, tuple[int, ...]]:
    """One call where the batch is one more leading dim that folds, or more sequences; else one call after another."""
    moved = [
        array if place is batching.not_mapped else jax.numpy.moveaxis(array, place, 0)
        for array, place in zip(arrays, places, strict=True)
    ]
    is_batched = [place is not batching.not_mapped for place in places]
    form = make_form(op)
    size = next(array.shape[0] for array, own in zip(moved, is_batched, strict=True) if own)
    if size and can_pack(form, call, is_batched):
        own = pack_calls(form, call, moved, is_batched, size, partial(bind_call, op))
    elif _folds(form, call, is_batched):
        outputs = bind_call(op, call, moved)
        own = [_unfold(form, place, output, size) for place, output in enumerate(outputs)]
    else:
        own = list(_map_calls(op, call, moved, is_batched))
    return own, (0,) * len(own)


def _folds(form: OpForm, call: OpParams, is_batched: Sequence[bool]) -> bool:
    """All inputs that fold one and the same first dim are batched, and no other; every output has that dim first."""
    named = [array for array, is_there in zip(form.spec.inputs, call.present, strict=True) if is_there]
    batched = [array for array, own in zip(named, is_batched, strict=True) if own]
    first = {array.dims[0] for array in batched}
    if len(first) != 1 or not all(array.folds_leading for array in batched):
        return False
    (dim,) = first
    others = [array for array, own in zip(named, is_batched, strict=True) if not own]
    return not any(dim in array.dims for array in others) and all(
        output.dims[0] == dim and dim not in output.dims[1:] for output in form.spec.outputs
    )


def _unfold(form: OpForm, place: int, output: Array, size: int) -> Array:
    """An output that does not fold has the batch within its first dim."""
    if form.spec.outputs[place].folds_leading:
        return output
    return output.reshape(size, -1 if output.shape[0] else 0, *output.shape[1:])


def _map_calls(op: str, call: OpParams, arrays: Sequence[Array], is_batched: Sequence[bool]) -> tuple[Array, ...]:
    mapped = tuple(array for array, own in zip(arrays, is_batched, strict=True) if own)

    def call_one(parts: tuple[Array, ...]) -> tuple[Array, ...]:
        rest = iter(parts)
        own = [next(rest) if batched else array for array, batched in zip(arrays, is_batched, strict=True)]
        return bind_call(op, call, own)

    outputs: tuple[Array, ...] = jax.lax.map(call_one, mapped)
    return outputs
