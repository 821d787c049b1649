"""A call under jit on several devices → each device's own part of it, by the op's split rule, instead of one on all.

XLA can not look into a custom call: without a rule it gathers whole operands on every device. GSPMD asks the rule for
shardings, Shardy reads it as text; either way what a device runs is the op itself on its part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from jax import Array
from jax.experimental.custom_partitioning import ArrayMapping, CompoundFactor, SdyShardingRule, custom_partitioning
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from rockiln_jax.calls import OpParams, accept_call
from rockiln_jax.forms import OpForm, make_form
from rockiln_jax.local_calls import call_part
from rockiln_jax.primitives import bind_call
from rockiln_jax.split_rules import Dim, Layout, find_rule, lay_out

Axes = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """What is split: factor → the mesh axes along which it is."""

    axes: Mapping[str, Axes]

    def shard(self, mesh: Mesh, dims: Sequence[Dim]) -> NamedSharding:
        """The sharding of an array."""
        return NamedSharding(mesh, PartitionSpec(*(self.axes.get(dim.factor) for dim in dims)))


def make_divided(form: OpForm, call: OpParams, arrays: Sequence[Any]) -> Any:
    """A function of the arrays that XLA divides by the call's layout."""
    return _make_function(form.spec.name, call, make_layout(form, call, arrays))


def make_layout(form: OpForm, call: OpParams, arrays: Sequence[Any]) -> Layout:
    """How the call can be split."""
    scalars = dict(zip((item.name for item in form.spec.scalars), call.scalars, strict=True))
    rule = find_rule(form.spec.name, interleaved=bool(scalars.get("interleaved", False)))
    inputs = [
        (array, tuple(value.shape))
        for array, value in zip(form.spec.inputs, call.spread(arrays), strict=True)
        if value is not None
    ]
    accepted, outputs = accept_call(form, call, arrays)
    return lay_out(form.spec, rule, accepted.names, inputs, [item.shape for item in outputs], call.copies)


@lru_cache(maxsize=1024)
def _make_function(op: str, call: OpParams, layout: Layout) -> Any:
    divided = custom_partitioning(partial(bind_call, op, call))
    divided.def_partition(
        partition=partial(_partition, op, call, layout),
        infer_sharding_from_operands=partial(_infer, layout),
        sharding_rule=write_rule(layout),
    )
    return lambda *arrays: divided(arrays)


def choose_shares(layout: Layout, shardings: Sequence[Any], mesh: Mesh) -> Shares:
    """For each factor the axes of the first array that is split along it, where they divide it and are not taken."""
    specs = [_read_spec(sharding) for sharding in shardings]
    chosen: dict[str, Axes] = {}
    for factor in layout.factors:
        taken = {axis for axes in chosen.values() for axis in axes}
        for dims, spec in zip((*layout.inputs, *layout.outputs), specs, strict=False):
            asked = [(dim, axes) for dim, axes in zip(dims, spec, strict=False) if dim.factor == factor and axes]
            if not asked:
                continue
            dim, axes = asked[0]
            if dim.count % _count_devices(axes, mesh) == 0 and not taken & set(axes):
                chosen[factor] = axes
                break
    return Shares(axes=chosen)


def _count_devices(axes: Axes, mesh: Mesh) -> int:
    return math.prod(mesh.shape[axis] for axis in axes)


def _read_spec(sharding: Any) -> list[Axes]:
    """Axes by dim; none where the sharding is of another kind."""
    own = sharding.spec if isinstance(sharding, NamedSharding) else ()
    return [() if axes is None else (axes,) if isinstance(axes, str) else tuple(axes) for axes in own]


def _infer(layout: Layout, mesh: Mesh, given: Any, _outputs: Any) -> tuple[NamedSharding, ...]:
    [arrays] = given
    mesh = _find_mesh(mesh, arrays)
    shares = choose_shares(layout, [array.sharding for array in arrays], mesh)
    return tuple(shares.shard(mesh, dims) for dims in layout.outputs)


def _partition(op: str, call: OpParams, layout: Layout, mesh: Mesh, given: Any, outputs: Any) -> Any:
    [arrays] = given
    mesh = _find_mesh(mesh, arrays)
    shares = choose_shares(layout, [array.sharding for array in (*arrays, *outputs)], mesh)
    parts = {factor: (axes, _count_devices(axes, mesh)) for factor, axes in shares.axes.items()}

    def run(own: tuple[Array, ...]) -> tuple[Array, ...]:
        return call_part(make_form(op), call, layout, parts, own)

    results, operands = (tuple(shares.shard(mesh, dims) for dims in own) for own in (layout.outputs, layout.inputs))
    return mesh, run, results, (operands,)


def _find_mesh(mesh: Mesh, arrays: Sequence[Any]) -> Mesh:
    """The mesh that is in force, or one of all devices, along which nothing is split."""
    if not mesh.empty:
        return mesh
    devices = sorted(arrays[0].sharding.device_set, key=lambda device: device.id)
    return Mesh(devices, ("rockiln_devices",))


def write_rule(layout: Layout) -> SdyShardingRule:
    """The same for Shardy: each dim as its factor times a rest of its own."""
    sizes: dict[str, int] = {}
    whole: set[str] = set()
    arrays = []
    for number, dims in enumerate((*layout.inputs, *layout.outputs)):
        names: list[Any] = []
        for place, dim in enumerate(dims):
            rest = f"r{number}d{place}"
            if not dim.factor:
                names.append(rest)
            elif dim.size == dim.count:
                names.append(dim.factor.lower())
                whole.add(dim.factor.lower())
            else:
                names.append(CompoundFactor(dim.factor.lower(), rest))
                sizes |= {dim.factor.lower(): dim.count, rest: dim.size // dim.count}
        arrays.append(ArrayMapping(*names))
    known = {name: size for name, size in sizes.items() if name not in whole}
    count = len(layout.inputs)
    return SdyShardingRule(tuple(arrays[:count]), tuple(arrays[count:]), **known)
