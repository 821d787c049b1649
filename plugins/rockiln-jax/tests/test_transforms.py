"""jit, vmap, scan, checkpoint and shard_map on eight devices of an op of every family: as the loop; all by night."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
import pytest
from jax.experimental.shard_map import shard_map
from jax.sharding import Mesh, PartitionSpec

from golden_calls import Call, make_call, pick_case, stack_like
from harness.framework_calls import find_difference
from harness.rotation import NIGHTLY, read_rotation
from rockiln_kernels.table import read_families, read_origins, read_table

COUNT = 8
Arrays = tuple[jax.Array, ...]


def pick_ops() -> list[str]:
    """An op of each family by day."""
    origins = read_origins()
    families = [sorted(op for op in origins if origins[op] == family) for family in read_families()]
    return sorted(read_table()) if NIGHTLY else [names[read_rotation() % len(names)] for names in families]


def map_jit(call: Call, arrays: Arrays) -> Arrays:
    """One at a time, compiled."""
    compiled = jax.jit(call)
    parts = [compiled(*(array[place] for array in arrays)) for place in range(COUNT)]
    return tuple(jax.numpy.stack(own) for own in zip(*parts, strict=True))


def map_scan(call: Call, arrays: Arrays) -> Arrays:
    """In a scan."""
    return jax.lax.scan(lambda carry, own: (carry, call(*own)), 0, arrays)[1]


def map_checkpoint(call: Call, arrays: Arrays) -> Arrays:
    """In a scan of a checkpoint."""
    return map_scan(jax.checkpoint(call), arrays)


def map_vmap(call: Call, arrays: Arrays) -> Arrays:
    """As a batch."""
    return jax.jit(jax.vmap(call))(*arrays)


def map_shards(call: Call, arrays: Arrays) -> Arrays:
    """One on each device."""
    mesh, rows = Mesh(np.array(jax.devices()), ("rows",)), PartitionSpec("rows")

    def call_own(*own: jax.Array) -> Arrays:
        return tuple(output[None] for output in call(*(array[0] for array in own)))

    return jax.jit(shard_map(call_own, mesh=mesh, in_specs=rows, out_specs=rows))(*arrays)


WAYS = {"jit": map_jit, "scan": map_scan, "checkpoint": map_checkpoint, "vmap": map_vmap, "shard_map": map_shards}


@pytest.mark.parametrize("op", pick_ops())
def test_every_way_agrees_with_the_loop(op: str) -> None:
    call, arrays = make_call(pick_case(op, read_rotation()))
    stacked = stack_like(arrays, COUNT)
    parts = [call(*(array[place] for array in stacked)) for place in range(COUNT)]
    loop = tuple(jax.numpy.stack(own) for own in zip(*parts, strict=True))
    for name, way in WAYS.items():
        for place, (got, wanted) in enumerate(zip(way(call, stacked), loop, strict=True)):
            assert find_difference(got, wanted) == "", f"{op}: {name}: output {place}"


@pytest.mark.parametrize("op", ["rms_norm", "gemm_silu", "silu_and_mul", "rope", "attention_prefill"])
def test_slopes_by_every_way_agree_with_the_loop(op: str) -> None:
    call, arrays = make_call(pick_case(op, read_rotation()))
    stacked = stack_like(arrays, COUNT)

    def total(own: jax.Array, rest: Arrays) -> jax.Array:
        return (call(own, *rest)[0].astype(jax.numpy.float32) ** 2).sum()

    def slope(*own: jax.Array) -> Arrays:
        return (jax.grad(partial(total, rest=own[1:]))(own[0]),)

    loop = jax.numpy.stack([slope(*(array[place] for array in stacked))[0] for place in range(COUNT)])
    for name, way in WAYS.items():
        [got] = way(slope, stacked)
        assert find_difference(got, loop) == "", f"{op}: {name}"
