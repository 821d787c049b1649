"""A variant → arrays for one call that it takes, drawn from its key alone; or why none can be drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Any

import ml_dtypes
import numpy as np

from rockiln_kernels.bind import Bound, bind_variant
from rockiln_kernels.call import Accepted, ArrayValue, Call, Rejected, check_call
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.expressions import Value, evaluate_expression
from rockiln_kernels.pack.manifest import Manifest, VariantEntry
from rockiln_kernels.references.attention_prefill import attention_prefill
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.validation.contents import DIMS, make_codes, make_indices, make_scalar

Array = np.ndarray[Any, Any]
_TRIES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A call, bound to the variant."""

    call: Call
    scalars: Mapping[str, Value]
    accepted: Accepted
    bound: Bound


def numpy_dtype(name: str) -> np.dtype[Any]:
    """NumPy's dtype, or ml_dtypes', of one of our names."""
    own = DTYPES[name].numpy
    return np.dtype(getattr(ml_dtypes, own)) if hasattr(ml_dtypes, own) else np.dtype(own)


def draw_inputs(spec: OpSpec, manifest: Manifest, variant: VariantEntry, limit: int) -> Drawn | Rejected:
    """Contiguous arrays of at most `limit` elements each, and of a quarter of that or more if some try gives that."""
    cell = spec.cell_dtypes(variant.cell)
    random = Random(variant.key)  # noqa: S311  # shapes, no secrets
    found: Drawn | None = None
    for _ in range(_TRIES):
        names, shapes = _draw_shapes(spec, random, limit)
        sizes = [prod(shape) for shape in shapes.values()]
        if not sizes or max(sizes) > limit or min(sizes) == 0:
            continue
        scalars = {item.name: make_scalar(item.name, names) for item in spec.scalars if item.default is None}
        if unknown := [name for name, value in scalars.items() if value is None]:
            return Rejected(reason=f"no value of {unknown[0]}, which has no default, is known")
        given = {name: value for name, value in scalars.items() if value is not None}
        given |= {item.name: random.random() < 0.5 for item in spec.scalars if item.kind == "bool"}
        call = _make_call(spec, cell, shapes, given)
        bound = _bind(spec, manifest, variant, call)
        if bound and (found is None or max(sizes) * 4 >= limit):
            found = Drawn(call=call, scalars={**dict(_defaults(spec)), **given}, accepted=bound[0], bound=bound[1])
            if max(sizes) * 4 >= limit:
                break
    return found or Rejected(reason=f"no call of at most {limit} elements was found that it takes")


def _draw_shapes(
    spec: OpSpec, random: Random, limit: int
) -> tuple[dict[str, Value], dict[str, tuple[int, ...]]]:
    """Values of dims, and the shapes that they make; no shapes where a dim is unknown."""
    names: dict[str, Value] = {}
    sizes = [1 << power for power in range(3, max(4, limit.bit_length()))]
    for array in spec.inputs:
        for dim in array.dims:
            if dim.isidentifier():
                names.setdefault(dim, random.choice(DIMS.get(dim, sizes)))
    arrays = [array for array in spec.inputs if not array.optional]
    try:
        shapes = {array.name: tuple(int(evaluate_expression(dim, names)) for dim in array.dims) for array in arrays}
    except KeyError:
        return names, {}
    return names, shapes


def _make_call(
    spec: OpSpec, cell: Mapping[str, str], shapes: Mapping[str, tuple[int, ...]], scalars: Mapping[str, Value]
) -> Call:
    dtypes = {array.name: cell.get(array.dtype, array.dtype) for array in spec.inputs}
    arrays = {
        name: ArrayValue(shape=shape, strides=_count_strides(shape), dtype=dtypes[name])
        for name, shape in shapes.items()
    }
    inputs = {array.dtype for array in spec.inputs}
    open_axes = {axis: dtype for axis, dtype in cell.items() if axis not in inputs}
    return Call(op=spec.name, arrays=arrays, scalars=dict(scalars), dtypes=open_axes)


def _count_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[place + 1 :]) for place in range(len(shape)))


def _bind(spec: OpSpec, manifest: Manifest, variant: VariantEntry, call: Call) -> tuple[Accepted, Bound] | None:
    accepted = check_call(spec, call)
    if isinstance(accepted, Rejected):
        return None
    bound = bind_variant(manifest, variant, accepted.names, {})
    return None if isinstance(bound, Rejected) else (accepted, bound)


def fill_arrays(drawn: Drawn, key: str) -> dict[str, Array]:
    """Normally distributed numbers, indices in range and codes that depend on `key` alone.

    out and lse of a gradient are those of the op itself. Raises ValueError for an array of integers of unknown meaning.
    """
    generator = np.random.default_rng(list(key.encode()))
    arrays: dict[str, Array] = {}
    for name, value in drawn.call.arrays.items():
        if value.dtype == "i32":
            made = make_indices(name, value.shape, drawn.accepted.names, generator)
            if made is None:
                raise ValueError(f"no way to draw {name} is known")
        elif value.dtype == "u8":
            made = make_codes(name, value.shape, generator)
        else:
            made = generator.standard_normal(value.shape).astype(np.float32).astype(numpy_dtype(value.dtype))
        arrays[name] = made
    if drawn.call.op == "attention_prefill_backward":
        forward = attention_prefill(arrays, drawn.scalars)
        arrays |= {name: forward[name].astype(arrays[name].dtype) for name in ("out", "lse")}
    return arrays


def _defaults(spec: OpSpec) -> Iterable[tuple[str, Value]]:
    return ((item.name, item.default) for item in spec.scalars if item.default is not None)
