"""The tiny transformer of rockiln-kernels' tests, trained 50 steps by JAX: the losses that float64 gives."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from rockiln_jax import ops
from training.recipe import (
    EPS,
    HEAD,
    HEADS,
    KEY_HEADS,
    LAYERS,
    LENGTHS,
    MOMENTUM,
    RATE,
    STEPS,
    Batch,
    find_miss,
    make_batches,
    make_tables,
    make_weights,
)

Weights = dict[str, jax.Array]


def attend(x: jax.Array, weights: Weights, layer: int, batch: Batch) -> jax.Array:
    """x and what a layer's attention adds."""
    h = ops.rms_norm(x, weights[f"{layer}.norm"], eps=EPS)
    q, k, v = (
        ops.gemm(h, weights[f"{layer}.{name}"]).reshape(len(x), heads, HEAD)
        for name, heads in (("q", HEADS), ("k", KEY_HEADS), ("v", KEY_HEADS))
    )
    tables = [jnp.asarray(table) for table in make_tables()]
    q, k = (ops.rope(part, *tables, batch.positions) for part in (q, k))
    half = (part.astype(jnp.float16) for part in (q, k, v))
    out, _ = ops.attention_prefill(
        *half, batch.starts, batch.starts, scale=HEAD**-0.5, max_seqlen_q=max(LENGTHS), causal=True
    )
    return x + ops.gemm(out.astype(jnp.float32).reshape(len(x), -1), weights[f"{layer}.o"])


def find_loss(weights: Weights, tokens: jax.Array, targets: jax.Array, batch: Batch) -> jax.Array:
    """The mean of negative log-softmax at the targets; `batch` gives positions and starts, which are all the same."""
    x = weights["embed"][tokens]
    for layer in range(LAYERS):
        x = attend(x, weights, layer, batch)
        h = ops.rms_norm(x, weights[f"{layer}.mlp_norm"], eps=EPS)
        x = x + ops.gemm(ops.gemm_swiglu(h, weights[f"{layer}.gate_up"]), weights[f"{layer}.down"])
    logits = ops.gemm(ops.rms_norm(x, weights["norm"], eps=EPS), weights["head"])
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[:, None], axis=1).mean()


def test_losses_of_50_steps_are_those_of_float64() -> None:
    batches = make_batches()
    weights = {name: jnp.asarray(value) for name, value in make_weights().items()}
    velocity = jax.tree.map(jnp.zeros_like, weights)

    @jax.jit
    def step(
        weights: Weights, velocity: Weights, tokens: jax.Array, targets: jax.Array
    ) -> tuple[Weights, Weights, jax.Array]:
        loss, slopes = jax.value_and_grad(partial(find_loss, batch=batches[0]))(weights, tokens, targets)
        velocity = jax.tree.map(lambda old, slope: MOMENTUM * old + slope, velocity, slopes)
        return jax.tree.map(lambda value, own: value - RATE * own, weights, velocity), velocity, loss

    losses = []
    for number in range(STEPS):
        batch = batches[number % len(batches)]
        weights, velocity, loss = step(weights, velocity, jnp.asarray(batch.tokens), jnp.asarray(batch.targets))
        losses.append(float(loss))
    assert find_miss(losses) == ""
