"""Softmax attention in float64: what the attention ops' references share."""

from __future__ import annotations

import numpy as np

from rockiln_kernels.references.arrays import Array


def see_keys(queries: int, keys: int, *, is_causal: bool, window_left: int) -> Array:
    """bool [queries, keys]: the last query stands at the last key; window_left < 0 is no window."""
    distance = np.arange(keys)[None, :] - (np.arange(queries)[:, None] + keys - queries)
    seen: Array = distance <= 0 if is_causal else np.ones_like(distance, dtype=bool)
    return seen & (distance >= -window_left) if window_left >= 0 else seen


def weigh_keys(scores: Array, seen: Array, sink: float | None) -> tuple[Array, Array]:
    """scores [L, N] → (softmax weights [L, N], log of the sum [L]); rows that see nothing: 0 and -inf."""
    with np.errstate(all="ignore"):
        hidden = np.where(seen, scores, -np.inf)
        logit = -np.inf if sink is None else sink
        highest = np.max(hidden, axis=1, initial=logit)
        shift = np.where(highest == -np.inf, 0.0, highest)
        parts = np.exp(hidden - shift[:, None])
        total = parts.sum(axis=1) + np.exp(logit - shift)
        weights = np.where(total[:, None] == 0, 0.0, parts / total[:, None])
        return weights, shift + np.log(total)


def attend(q: Array, k: Array, v: Array, scale: float, seen: Array, sink: float | None) -> tuple[Array, Array]:
    """q [L, D], k [N, D], v [N, DV], seen bool [L, N] → (out [L, DV], log of the sum [L]).

    A hidden value counts 0 times, so a NaN among them shows, as it does in kernels within a block of keys.
    """
    with np.errstate(all="ignore"):
        weights, lse = weigh_keys(q @ k.T * scale, seen, sink)
        return weights @ v, lse
