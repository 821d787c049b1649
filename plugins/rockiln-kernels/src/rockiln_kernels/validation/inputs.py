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
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.expressions import Value, evaluate_expression
from rockiln_kernels.pack.manifest import Manifest, VariantEntry
from rockiln_kernels.spec import Accepted, ArrayValue, Call, OpSpec, Rejected, check_call

Array = np.ndarray[Any, Any]
_TRIES = 400
_FLOATS = ("f32", "f16", "bf16", "e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz")


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
    if other := [item.name for item in spec.inputs if cell.get(item.dtype, item.dtype) not in _FLOATS]:
        return Rejected(reason=f"no way to draw {other[0]}, which is no array of floats, is known")
    if missing := [item.name for item in spec.scalars if item.default is None]:
        return Rejected(reason=f"{missing[0]} has no default")
    random = Random(variant.key)  # noqa: S311  # shapes, no secrets
    found: Drawn | None = None
    for _ in range(_TRIES):
        shapes = _draw_shapes(spec, random, limit)
        sizes = [prod(shape) for shape in shapes.values()]
        if not sizes or max(sizes) > limit or min(sizes) == 0:
            continue
        call = _make_call(spec, cell, shapes)
        bound = _bind(spec, manifest, variant, call)
        if bound and (found is None or max(sizes) * 4 >= limit):
            found = Drawn(call=call, scalars=dict(_defaults(spec)), accepted=bound[0], bound=bound[1])
            if max(sizes) * 4 >= limit:
                break
    return found or Rejected(reason=f"no call of at most {limit} elements was found that it takes")


def _draw_shapes(spec: OpSpec, random: Random, limit: int) -> dict[str, tuple[int, ...]]:
    names: dict[str, Value] = {}
    sizes = [1 << power for power in range(3, max(4, limit.bit_length()))]
    for array in spec.inputs:
        for dim in array.dims:
            if dim.isidentifier():
                names.setdefault(dim, random.choice(sizes))
    arrays = [array for array in spec.inputs if not array.optional]
    try:
        return {array.name: tuple(int(evaluate_expression(dim, names)) for dim in array.dims) for array in arrays}
    except KeyError:
        return {}


def _make_call(spec: OpSpec, cell: Mapping[str, str], shapes: Mapping[str, tuple[int, ...]]) -> Call:
    dtypes = {array.name: cell.get(array.dtype, array.dtype) for array in spec.inputs}
    arrays = {
        name: ArrayValue(shape=shape, strides=_count_strides(shape), dtype=dtypes[name])
        for name, shape in shapes.items()
    }
    inputs = {array.dtype for array in spec.inputs}
    return Call(
        op=spec.name, arrays=arrays, dtypes={axis: dtype for axis, dtype in cell.items() if axis not in inputs}
    )


def _count_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[place + 1 :]) for place in range(len(shape)))


def _bind(spec: OpSpec, manifest: Manifest, variant: VariantEntry, call: Call) -> tuple[Accepted, Bound] | None:
    accepted = check_call(spec, call)
    if isinstance(accepted, Rejected):
        return None
    bound = bind_variant(manifest, variant, accepted.names, {})
    return None if isinstance(bound, Rejected) else (accepted, bound)


def fill_arrays(call: Call, key: str) -> dict[str, Array]:
    """Normally distributed numbers that depend on `key` alone."""
    generator = np.random.default_rng(list(key.encode()))
    return {
        name: generator.standard_normal(value.shape).astype(np.float32).astype(numpy_dtype(value.dtype))
        for name, value in call.arrays.items()
    }


def _defaults(spec: OpSpec) -> Iterable[tuple[str, Value]]:
    return ((item.name, item.default) for item in spec.scalars if item.default is not None)
