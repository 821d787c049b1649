"""One device's part of a call that is split: the op on its part, and what the parts have to be put together by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
from jax import Array

from rockiln_jax.calls import OpParams
from rockiln_jax.composed.gemms import SUFFIXES, finish
from rockiln_jax.composed.narrow import widen
from rockiln_jax.forms import OpForm, make_form
from rockiln_jax.primitives import bind_call
from rockiln_jax.split_rules import Layout

Parts = Mapping[str, tuple[tuple[str, ...], int]]
"""Factor → the mesh axes along which it is split, and into how many parts."""


def call_part(form: OpForm, call: OpParams, layout: Layout, parts: Parts, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """The device's outputs; those that lack a factor that is split are summed over its axes, in f32."""
    if "K" in parts:
        return _add_products(form, call, parts["K"][0], arrays)
    given = list(arrays)
    if "E" in parts:
        given = _keep_experts(form, call, parts["E"], given)
    if "T" in parts:
        call, given = _keep_sequences(form, call, layout, parts["T"], given)
    outputs = bind_call(form.spec.name, call, given)
    if not parts:
        return outputs
    return tuple(
        _add(output, [axis for factor, (axes, _) in parts.items() if factor not in own for axis in axes])
        for output, own in zip(outputs, ({dim.factor for dim in dims} for dims in layout.outputs), strict=True)
    )


def _add(part: Array, axes: Sequence[str]) -> Array:
    return jax.lax.psum(widen(part), tuple(axes)).astype(part.dtype) if axes else part


def _add_products(form: OpForm, call: OpParams, axes: Sequence[str], arrays: Sequence[Array]) -> tuple[Array, ...]:
    """K is split: the products are added up before bias and epilogue, which follow in f32."""
    suffix = max((own for own in SUFFIXES if form.spec.name.endswith(own)), key=len)
    words = dict(zip((item.name for item in form.spec.scalars), call.scalars, strict=True))
    given = call.spread(arrays)
    has_bias = form.spec.inputs[-1].name == "bias"
    bias = given.pop() if has_bias else None
    plain = make_form(form.spec.name.removesuffix(suffix))
    own = OpParams(
        present=(*(value is not None for value in given), *((False,) if has_bias else ())),
        scalars=tuple(words[item.name] for item in plain.spec.scalars),
        dtypes=call.dtypes,
    )
    [part] = bind_call(plain.spec.name, own, [value for value in given if value is not None])
    whole = jax.lax.psum(widen(part), tuple(axes))
    is_interleaved = bool(words.get("interleaved", False))
    return (finish(whole, bias, suffix, interleaved=is_interleaved).astype(part.dtype),)


def _keep_experts(
    form: OpForm, call: OpParams, part: tuple[Sequence[str], int], arrays: Sequence[Array]
) -> list[Array]:
    """Ids count from the device's first expert; those of other devices' experts are none's, and add nothing."""
    axes, _ = part
    given = dict(zip((array.name for array in form.spec.inputs), call.spread(arrays), strict=True))
    count = given["gate_up"].shape[0]
    ids = given["ids"] - jax.lax.axis_index(tuple(axes)).astype(given["ids"].dtype) * count
    given["ids"] = jnp.where((ids >= 0) & (ids < count), ids, -1)
    return [value for value in given.values() if value is not None]


def _keep_sequences(
    form: OpForm, call: OpParams, layout: Layout, part: tuple[Sequence[str], int], arrays: Sequence[Array]
) -> tuple[OpParams, list[Array]]:
    """Where the device's sequences start in its rows: its part of the starts, or, where all have one end, cut out."""
    axes, parts = part
    given = dict(zip((array.name for array in form.spec.inputs), call.spread(arrays), strict=True))
    names = [array.name for array, is_there in zip(form.spec.inputs, call.present, strict=True) if is_there]
    split = {name: bool(dims[0].factor) for name, dims in zip(names, layout.inputs, strict=True)}
    own = call.copies // parts
    place = jax.lax.axis_index(tuple(axes)).astype(jnp.int32)
    for starts, rows in (("cu_seqlens_q", "q"), ("cu_seqlens_k", "k")):
        values, length = given[starts], given[rows].shape[0]
        if not split[starts]:
            each, rest = divmod(values.shape[0] - 1, call.copies)
            values = values if rest else jax.lax.dynamic_slice(values, (place * own * each,), (own * each + 1,))
        given[starts] = jnp.clip(values - place * length, 0, length)  # those of other devices, if any, are empty
    return replace(call, copies=own), [value for value in given.values() if value is not None]
