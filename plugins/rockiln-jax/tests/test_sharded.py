"""Ops on eight host devices: within shard_map, and under jit with sharded arrays, as on one device."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.shard_map import shard_map
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from rockiln_jax import ops

X = jnp.asarray(np.random.default_rng(0).standard_normal((16, 64)), jnp.float32)
WEIGHT = jnp.linspace(0.5, 1.5, 64)
ROWS, WHOLE = PartitionSpec("rows"), PartitionSpec()


@pytest.fixture(scope="module")
def mesh() -> Mesh:
    assert jax.device_count() == 8
    return Mesh(np.array(jax.devices()), ("rows",))


@pytest.mark.parametrize("check", [True, False], ids=["checked", "unchecked"])
def test_values_and_gradients_within_shard_map_are_those_of_one_device(mesh: Mesh, check: bool) -> None:
    sharded = shard_map(ops.rms_norm, mesh=mesh, in_specs=(ROWS, WHOLE), out_specs=ROWS, check_rep=check)
    np.testing.assert_allclose(jax.jit(sharded)(X, WEIGHT), ops.rms_norm(X, WEIGHT), rtol=1e-6)

    def total(function: object, x: jax.Array, weight: jax.Array) -> jax.Array:
        return (function(x, weight) ** 3).sum()  # type: ignore[operator]

    got = jax.jit(jax.grad(lambda *own: total(sharded, *own), argnums=(0, 1)))(X, WEIGHT)
    wanted = jax.grad(lambda *own: total(ops.rms_norm, *own), argnums=(0, 1))(X, WEIGHT)
    for own, expected in zip(got, wanted, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-4, atol=1e-4)


def test_an_op_without_a_gradient_is_differentiated_within_shard_map(mesh: Mesh) -> None:
    b = jnp.asarray(np.random.default_rng(1).standard_normal((32, 64)), jnp.float32)
    sharded = shard_map(ops.gemm_silu, mesh=mesh, in_specs=(ROWS, WHOLE), out_specs=ROWS)
    got = jax.jit(jax.grad(lambda a, b: sharded(a, b).sum(), argnums=(0, 1)))(X, b)
    wanted = jax.grad(lambda a, b: ops.gemm_silu(a, b).sum(), argnums=(0, 1))(X, b)
    for own, expected in zip(got, wanted, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-4, atol=1e-4)


def test_compositions_are_sharded_by_xla(mesh: Mesh) -> None:
    y = jax.jit(ops.rms_norm)(jax.device_put(X, NamedSharding(mesh, ROWS)), WEIGHT)
    assert y.sharding.is_equivalent_to(NamedSharding(mesh, ROWS), y.ndim)
    np.testing.assert_allclose(y, ops.rms_norm(X, WEIGHT), rtol=1e-6)
