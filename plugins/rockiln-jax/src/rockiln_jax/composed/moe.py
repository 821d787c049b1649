"""fused_moe and its narrow kinds → compositions: an expert at a time over all tokens, added up in f32.

Shapes may not depend on what the tokens choose, so each expert multiplies every token, and weighs those that are not
its own with 0: experts / top times the work of a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from rockiln_jax.composed.gates import apply_gate, gate_silu
from rockiln_jax.composed.gemms import finish, multiply, widen_blocks
from rockiln_jax.composed.narrow import dequantise_mx, widen
from rockiln_jax.manual_axes import match_varying

Widen = Callable[..., Array]


def mix_experts(
    widen_weights: Widen, x: Array, matrices: tuple[tuple[Array, ...], tuple[Array, ...]], weights: Array, ids: Array,
    biases: tuple[Array | None, Array | None], **gate: Any,
) -> tuple[Array]:  # fmt: skip
    """out like x [..., K]; an id that is no expert's adds nothing. `matrices`: parts of gate_up and down, by expert."""
    rows, top = x.reshape(-1, x.shape[-1]), ids.shape[-1]
    flat, share = ids.reshape(-1, top), widen(weights).reshape(-1, top)

    def add_expert(total: Array, own: tuple[Any, ...]) -> tuple[Array, None]:
        expert, (gate_up, down), (gate_up_bias, down_bias) = own
        value = finish(multiply(rows, widen_weights(*gate_up)), gate_up_bias, "")
        hidden = apply_gate(value, gate_silu, **gate).astype(x.dtype)
        part = finish(multiply(hidden, widen_weights(*down)), down_bias, "")
        is_own = flat == expert
        weight = jnp.sum(jnp.where(is_own, share, 0.0), axis=-1, keepdims=True)
        return total + jnp.where(jnp.any(is_own, axis=-1, keepdims=True), widen(part) * weight, 0.0), None

    experts = jnp.arange(matrices[0][0].shape[0])
    zeros = jnp.zeros(rows.shape, widen(rows).dtype)
    start, *_ = match_varying([zeros, *jax.tree.leaves((rows, matrices, flat, share, biases))])
    total, _ = jax.lax.scan(add_expert, start, (experts, matrices, biases))
    return (total.astype(x.dtype).reshape(x.shape),)


def fused_moe(
    x: Array, gate_up: Array, down: Array, weights: Array, ids: Array, gate_up_bias: Array | None = None,
    down_bias: Array | None = None, **gate: Any,
) -> tuple[Array]:  # fmt: skip
    """out like x [..., K]; gate_up [E, N2, K], down [E, K, N2 / 2], weights and ids [..., top]."""
    biases = gate_up_bias, down_bias
    return mix_experts(lambda weight: weight, x, ((gate_up,), (down,)), weights, ids, biases, **gate)


def fused_moe_narrow(
    widen_weights: Widen, x: Array, gate_up: Array, gate_up_scale: Array, down: Array, down_scale: Array,
    weights: Array, ids: Array, gate_up_bias: Array | None = None, down_bias: Array | None = None, **gate: Any,
) -> tuple[Array]:  # fmt: skip
    """out like x; weights with scales, which `widen_weights` makes f32, an expert at a time."""
    matrices = (gate_up, gate_up_scale), (down, down_scale)
    return mix_experts(widen_weights, x, matrices, weights, ids, (gate_up_bias, down_bias), **gate)


COMPOSITIONS: dict[str, Callable[..., tuple[Array, ...]]] = {
    "fused_moe": fused_moe,
    "fused_moe_mxfp4": partial(fused_moe_narrow, partial(dequantise_mx, form="e2m1")),
    "fused_moe_fp8": partial(fused_moe_narrow, widen_blocks),
}
