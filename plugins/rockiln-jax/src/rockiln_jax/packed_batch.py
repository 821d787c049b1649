"""A batch of calls on packed sequences → one call on all their sequences, one after another, and the outputs cut apart.

Rows that lie in no sequence of their call would lie in one here, between two calls' own; what they give is made 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import jax.numpy as jnp
from jax import Array

from rockiln_jax.calls import OpParams
from rockiln_jax.forms import OpForm
from rockiln_kernels.spec import ArraySpec

STARTS = {"TQ": "cu_seqlens_q", "TK": "cu_seqlens_k"}
"""Dims of packed rows, and where their sequences start."""


def is_packed(form: OpForm) -> bool:
    """Whether the op takes packed sequences."""
    return set(STARTS.values()) <= {array.name for array in form.spec.inputs}


def can_pack(form: OpForm, call: OpParams, is_batched: Sequence[bool]) -> bool:
    """Whether what has a batch has rows, or starts: sinks are one for all."""
    named = [array for array, is_there in zip(form.spec.inputs, call.present, strict=True) if is_there]
    batched = [array.name for array, own in zip(named, is_batched, strict=True) if own]
    return is_packed(form) and "sinks" not in batched


def pack_calls(
    form: OpForm, call: OpParams, arrays: Sequence[Array], is_batched: Sequence[bool], size: int,
    bind: Callable[[OpParams, Sequence[Array]], tuple[Array, ...]],
) -> list[Array]:  # fmt: skip
    """Outputs [size, ...] of arrays whose batch, where there is one, comes first; `bind` makes the one call."""
    named = [array for array, is_there in zip(form.spec.inputs, call.present, strict=True) if is_there]
    whole = {
        array.name: value if own or array.name == "sinks" else jnp.broadcast_to(value, (size, *value.shape))
        for array, value, own in zip(named, arrays, is_batched, strict=True)
    }
    lengths = {"TQ": whole["q"].shape[1], "TK": whole["k"].shape[1]}
    starts = {name: whole[name] for name in STARTS.values()}
    for dim, name in STARTS.items():
        moved = starts[name] + jnp.arange(size, dtype=starts[name].dtype)[:, None] * lengths[dim]
        whole[name] = moved.reshape(-1)
    given = [_join(array, whole[array.name]) for array in named]
    outputs = bind(replace(call, copies=call.copies * size), given)
    return [
        _hide_outside(spec, _cut(spec, output, size), starts)
        for spec, output in zip(form.spec.outputs, outputs, strict=True)
    ]


def _find_rows(spec: ArraySpec) -> int:
    """The place of the dim of rows, -1 if there is none."""
    return next((place for place, dim in enumerate(spec.dims) if dim in STARTS), -1)


def _join(spec: ArraySpec, value: Array) -> Array:
    place = _find_rows(spec)
    if place < 0:
        return value
    own = jnp.moveaxis(value, 0, place)
    return own.reshape(*own.shape[:place], -1, *own.shape[place + 2 :])


def _cut(spec: ArraySpec, output: Array, size: int) -> Array:
    place = _find_rows(spec)
    own = output.reshape(*output.shape[:place], size, output.shape[place] // size, *output.shape[place + 1 :])
    return jnp.moveaxis(own, place, 0)


def _hide_outside(spec: ArraySpec, output: Array, starts: dict[str, Array]) -> Array:
    place = _find_rows(spec)
    own = starts[STARTS[spec.dims[place]]]
    rows = jnp.arange(output.shape[place + 1], dtype=own.dtype)
    is_inside = (rows >= own[:, :1]) & (rows < own[:, -1:])
    shape = (is_inside.shape[0], *(rows.size if at == place else 1 for at in range(len(spec.dims))))
    return jnp.where(is_inside.reshape(shape), output, -jnp.inf if spec.name == "lse" else 0.0)
