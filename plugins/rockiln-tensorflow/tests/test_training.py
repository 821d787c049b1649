"""The tiny transformer of rockiln-kernels' tests, trained 50 steps by TensorFlow: the losses that float64 gives."""

from __future__ import annotations

import tensorflow as tf

from rockiln_tensorflow import ops
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

Weights = dict[str, tf.Variable]


def attend(x: tf.Tensor, weights: Weights, layer: int, batch: Batch) -> tf.Tensor:
    """x and what a layer's attention adds."""
    h = ops.rms_norm(x, weights[f"{layer}.norm"], eps=EPS)
    q, k, v = (
        tf.reshape(ops.gemm(h, weights[f"{layer}.{name}"]), [len(batch.positions), heads, HEAD])
        for name, heads in (("q", HEADS), ("k", KEY_HEADS), ("v", KEY_HEADS))
    )
    q, k = (ops.rope(part, *make_tables(), batch.positions) for part in (q, k))
    half = (tf.cast(part, tf.float16) for part in (q, k, v))
    out, _ = ops.attention_prefill(
        *half, batch.starts, batch.starts, scale=HEAD**-0.5, max_seqlen_q=max(LENGTHS), causal=True
    )
    merged = tf.reshape(tf.cast(out, tf.float32), [len(batch.positions), HEADS * HEAD])
    return x + ops.gemm(merged, weights[f"{layer}.o"])


def find_loss(weights: Weights, tokens: tf.Tensor, targets: tf.Tensor, batch: Batch) -> tf.Tensor:
    """The mean of negative log-softmax at the targets; `batch` gives positions and starts, which are all the same."""
    x = tf.gather(weights["embed"], tokens)
    for layer in range(LAYERS):
        x = attend(x, weights, layer, batch)
        h = ops.rms_norm(x, weights[f"{layer}.mlp_norm"], eps=EPS)
        x = x + ops.gemm(ops.gemm_swiglu(h, weights[f"{layer}.gate_up"]), weights[f"{layer}.down"])
    logits = ops.gemm(ops.rms_norm(x, weights["norm"], eps=EPS), weights["head"])
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits))


def test_losses_of_50_steps_are_those_of_float64() -> None:
    batches = make_batches()
    weights = {name: tf.Variable(value) for name, value in make_weights().items()}
    velocity = {name: tf.Variable(tf.zeros_like(value)) for name, value in weights.items()}

    @tf.function(autograph=False)
    def step(tokens: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = find_loss(weights, tokens, targets, batches[0])
        slopes = tape.gradient(loss, weights)
        for name, value in weights.items():
            value.assign_sub(
                RATE * velocity[name].assign(MOMENTUM * velocity[name] + tf.convert_to_tensor(slopes[name]))
            )
        return loss

    losses = []
    for number in range(STEPS):
        batch = batches[number % len(batches)]
        losses.append(float(step(tf.constant(batch.tokens), tf.constant(batch.targets))))
    assert find_miss(losses) == ""
