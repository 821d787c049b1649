"""Arrays inside shard_map → the mesh axes along which they differ; the arrays, differing along all of those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax.extend.core import Primitive


def find_varying(arrays: Sequence[Any]) -> frozenset[Any]:
    """Axes along which any array, or abstract value, differs from device to device."""
    return frozenset().union(*(_read_axes(array) for array in arrays))


def match_varying(arrays: Sequence[Any]) -> list[Any]:
    """The arrays, marked as varying along the axes of find_varying; so gradients of replicated ones are summed up."""
    axes = find_varying(arrays)
    missing = [tuple(sorted(axes - _read_axes(array), key=str)) for array in arrays]
    return [jax.lax.pvary(array, own) if own else array for array, own in zip(arrays, missing, strict=True)]


def drop_axes(value: Any) -> Any:
    """An abstract value without the axes along which it varies."""
    return value.update(vma=frozenset()) if getattr(value, "vma", None) else value


def sum_slope(slope: Any, array: Any) -> Any:
    """The slope of an array that varies along fewer axes than it: what match_varying did is undone by a sum."""
    axes = tuple(sorted(_read_axes(slope) - _read_axes(array), key=str))
    return jax.lax.psum(slope, axes) if axes else slope


def allow_replication_check(primitive: Primitive) -> None:
    """JAX 0.6.0 and 0.6.1 ask for rules of a primitive, where 0.6.2 reads its abstract values."""
    from jax.experimental import shard_map

    for name in ("register_standard_check", "register_standard_rewrite"):
        if rule := getattr(shard_map, name, None):
            rule(primitive)


def show_devices(primitive: Primitive) -> None:
    """JAX tells lowering rules which devices they lower for if the primitive asks; there is no public way to ask."""
    from jax._src import dispatch

    dispatch.prim_requires_devices_during_lowering.add(primitive)


def _read_axes(array: Any) -> frozenset[Any]:
    value = array if isinstance(array, jax.core.ShapedArray) else jax.typeof(array)
    return frozenset(getattr(value, "vma", ()))
