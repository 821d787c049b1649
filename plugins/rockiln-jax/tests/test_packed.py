"""attention_prefill on a batch: one call on all sequences, the same as one after another; rows that lie in none."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harness.framework_calls import find_difference
from rockiln_jax import ops

SIZE = 3
STARTS = jnp.array([[0, 5, 12], [0, 3, 9], [1, 4, 12]], jnp.int32)  # two have rows before or behind their sequences
SINKS = jnp.array([0.5, -1.0, 2.0, 0.1])


def _draw(seed: int, heads: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).standard_normal((SIZE, 12, heads, 16)), jnp.float16)


Q, K, V = _draw(0, 4), _draw(1, 2), _draw(2, 2)


def attend(q: jax.Array, k: jax.Array, v: jax.Array, starts: jax.Array, sinks: jax.Array = SINKS) -> Any:
    return ops.attention_prefill(q, k, v, starts, starts, sinks, scale=0.25, max_seqlen_q=12)


def _compare(got: tuple[jax.Array, ...], call: Any, *arrays: jax.Array) -> None:
    for place in range(SIZE):
        for own, wanted in zip(got, call(*(array[place] for array in arrays)), strict=True):
            assert find_difference(own[place], wanted) == ""


def test_a_batch_is_one_call_and_the_same_as_one_after_another() -> None:
    text = str(jax.make_jaxpr(jax.vmap(attend))(Q, K, V, STARTS))
    assert text.count("rockiln_attention_prefill") >= 1
    assert "scan" not in text
    _compare(jax.vmap(attend)(Q, K, V, STARTS), attend, Q, K, V, STARTS)


def test_slopes_of_a_batch_are_those_of_one_after_another() -> None:
    def total(q: jax.Array, k: jax.Array, v: jax.Array, starts: jax.Array) -> jax.Array:
        return (attend(q, k, v, starts)[0].astype(jnp.float32) ** 2).sum()

    slope = jax.grad(total, argnums=(0, 1, 2))
    assert "scan" not in str(jax.make_jaxpr(jax.vmap(slope))(Q, K, V, STARTS))
    _compare(jax.vmap(slope)(Q, K, V, STARTS), slope, Q, K, V, STARTS)


def test_what_has_no_batch_is_the_same_for_all_but_sinks_take_a_loop() -> None:
    shared = jax.vmap(attend, in_axes=(1, None, None, None))(Q.swapaxes(0, 1), K[0], V[0], STARTS[0])
    _compare(shared, lambda q: attend(q, K[0], V[0], STARTS[0]), Q)
    sinks = jnp.stack([SINKS, SINKS + 1, SINKS - 1])
    assert "scan" in str(jax.make_jaxpr(jax.vmap(attend))(Q, K, V, STARTS, sinks))
    _compare(jax.vmap(attend)(Q, K, V, STARTS, sinks), attend, Q, K, V, STARTS, sinks)


def test_a_batch_of_batches_is_one_call() -> None:
    twice = jax.vmap(jax.vmap(partial(attend, starts=STARTS[0])))
    q, k, v = (jnp.stack([array, array[::-1]]) for array in (Q, K, V))
    assert "scan" not in str(jax.make_jaxpr(twice)(q, k, v))
    got = twice(q, k, v)
    _compare(tuple(item[1] for item in got), partial(attend, starts=STARTS[0]), q[1], k[1], v[1])


def test_rows_in_no_sequence_are_zeros_and_their_log_sum_is_minus_infinity_with_sinks_too() -> None:
    out, lse = attend(Q[1], K[1], V[1], STARTS[1])
    assert not np.asarray(out[9:]).any()
    assert np.isneginf(np.asarray(lse[:, 9:])).all()
    assert np.isfinite(np.asarray(lse[:, :9])).all()
