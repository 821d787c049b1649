"""Calls of attention, GEMM, decode and MoE with sharded arrays → what XLA may send between devices for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from rockiln_jax import ops
from rockiln_jax.packed_attention import PackedCall, attend_packed

Spec = tuple[str | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardedCall:
    """`sent`: names of collectives in the order of the compiled text; `calls`: custom calls on each device."""

    name: str
    function: Callable[..., Any]
    arrays: tuple[jax.Array, ...]
    specs: tuple[Spec, ...]
    sent: tuple[str, ...] = ()
    calls: int = 1

    def place(self, mesh: Mesh) -> tuple[jax.Array, ...]:
        """The arrays, sharded."""
        pairs = zip(self.arrays, self.specs, strict=True)
        return tuple(jax.device_put(array, NamedSharding(mesh, PartitionSpec(*spec))) for array, spec in pairs)


def make_mesh() -> Mesh:
    """Eight host devices, 4 x 2: axes x and y."""
    return Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))


def draw(*shape: int, dtype: Any = jnp.bfloat16, seed: int = 0) -> jax.Array:
    """Normal numbers."""
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), dtype)


def _sum_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """Slopes of the sum of squares of the first output, by all arrays of floats before the first of integers."""

    def slope(*arrays: jax.Array) -> Any:
        floats = next((at for at, array in enumerate(arrays) if array.dtype == jnp.int32), len(arrays))

        def total(*own: jax.Array) -> jax.Array:
            output = function(*own, *arrays[floats:])
            first = output[0] if isinstance(output, tuple) else output
            return (first.astype(jnp.float32) ** 2).sum()

        return jax.grad(total, argnums=tuple(range(floats)))(*arrays[:floats])

    return slope


def list_gemms() -> list[ShardedCall]:
    """Rows, columns, and what is summed up."""
    a, b = draw(64, 256), draw(128, 256, seed=1)
    rows, columns, whole = ("x",), (None, "x"), ()
    bias = draw(128, seed=2)
    sent = ("all-reduce",)
    pairs = lambda *own: ops.gemm_swiglu(*own, interleaved=True)  # noqa: E731
    table = (
        ("gemm, rows", ops.gemm, (a, b), (rows, whole), ()),
        ("gemm, columns", ops.gemm, (a, b, bias), (whole, rows, rows), ()),
        ("gemm, both", ops.gemm, (a, b), (rows, ("y",)), ()),
        ("gemm, leading", ops.gemm, (a.reshape(8, 8, -1), b), (("x", "y"), whole), ()),
        ("gemm, sums", ops.gemm, (a, b, bias), (columns, columns, whole), sent),
        ("gemm_silu, sums", ops.gemm_silu, (a, b), (columns, columns), sent),
        ("gemm_swiglu, sums", ops.gemm_swiglu, (a, b), (columns, columns), sent),
        ("gemm_swiglu, interleaved", pairs, (a, b), (("y",), rows), ()),
    )
    return [_make(*row) for row in table]


def _make(name: str, function: Callable[..., Any], arrays: Any, specs: Any, sent: tuple[str, ...]) -> ShardedCall:
    return ShardedCall(name=name, function=function, arrays=arrays, specs=specs, sent=sent)


def list_attention() -> list[ShardedCall]:
    """Heads, and batches of equal lengths."""
    q, k, v = draw(32, 8, 64), draw(32, 4, 64, seed=1), draw(32, 4, 64, seed=2)
    starts = (jnp.array([0, 16, 32], jnp.int32),) * 2
    heads, whole = (None, "x"), ()

    def attend(*own: jax.Array) -> Any:
        return ops.attention_prefill(*own, scale=0.25, max_seqlen_q=16)

    by_heads = (heads, heads, heads, whole, whole)
    one = (q, k[:, :1], v[:, :1], *starts)
    platforms = ("cpu",)
    packed = PackedCall(scale=0.25, is_causal=True, window_left=-1, platforms=platforms)
    batch = tuple(array.reshape(8, 4, *array.shape[1:]) for array in (q, k, v))
    by_both = (("x", None, "y"),) * 3

    def attend_batch(*own: jax.Array) -> jax.Array:
        return attend_packed(*own, packed, lambda *_: own[0])

    mapped = jax.vmap(lambda *own: attend(*own, jnp.array([0, 4]), jnp.array([0, 4])))
    return [
        ShardedCall(name="attention, heads", function=attend, arrays=(q, k, v, *starts), specs=by_heads),
        ShardedCall(
            name="attention, slopes", function=_sum_of(attend), arrays=(q, k, v, *starts), specs=by_heads, calls=2
        ),
        ShardedCall(name="attention, one head of keys", function=attend, arrays=one, specs=(heads, *[whole] * 4)),
        ShardedCall(name="nn attention", function=attend_batch, arrays=batch, specs=by_both),
        ShardedCall(name="nn attention, slopes", function=_sum_of(attend_batch), arrays=batch, specs=by_both, calls=2),
        ShardedCall(name="attention, vmap", function=mapped, arrays=batch, specs=by_both),
    ]


def list_decodes() -> list[ShardedCall]:
    """Sequences and heads."""
    tables = jnp.arange(16, dtype=jnp.int32).reshape(8, 2)
    counts = jnp.array([16, 3, 32, 20, 9, 31, 1, 17], jnp.int32)
    caches = draw(16, 16, 2, 64, seed=1), draw(16, 16, 2, 64, seed=2)
    heads = (None, None, "y")
    arrays = (draw(8, 1, 4, 64), *caches, tables, counts)
    specs = (("x", None, "y"), heads, heads, ("x",), ("x",))
    return [
        ShardedCall(
            name="paged_decode", function=lambda *own: ops.paged_decode(*own, scale=0.125, splits=1), arrays=arrays,
            specs=specs,
        )
    ]  # fmt: skip


def list_moes() -> list[ShardedCall]:
    """Tokens and experts."""
    ids = jnp.asarray(np.random.default_rng(0).permuted(np.tile(np.arange(8), (64, 1)), axis=1)[:, :2], jnp.int32)
    arrays = (draw(64, 128), draw(8, 128, 128), draw(8, 128, 64), jnp.full((64, 2), 0.5, jnp.float32), ids)
    tokens, experts, whole, other = ("x",), ("x",), (), ("y",)
    sent = ("all-reduce",)
    return [
        _make("fused_moe, tokens", ops.fused_moe, arrays, (tokens, whole, whole, tokens, tokens), ()),
        _make("fused_moe, experts", ops.fused_moe, arrays, (whole, experts, experts, whole, whole), sent),
        _make("fused_moe, both", ops.fused_moe, arrays, (other, experts, experts, other, other), sent),
    ]


def list_sharded() -> list[ShardedCall]:
    """All of them."""
    return [*list_gemms(), *list_attention(), *list_decodes(), *list_moes()]
