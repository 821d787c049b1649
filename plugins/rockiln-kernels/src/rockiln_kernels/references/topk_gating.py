"""topk_softmax and topk_sigmoid in float64; choices are made in float32, as kernels make them."""

from __future__ import annotations

import numpy as np

from rockiln_kernels.references.activation import sigmoid
from rockiln_kernels.references.arrays import Array, Arrays, Scalars, widen


def _choose(values: Array, count: int, is_open: Array) -> Array:
    """Places of the `count` largest open ones of each row, the first of equals first; NaN is the smallest of them."""
    order = np.where(np.isnan(values), -np.inf, values)
    behind = np.isnan(values) + 2 * ~is_open
    result: Array = np.array([np.lexsort((-order[row], behind[row]))[:count] for row in range(len(values))], np.int64)
    return result.reshape(len(values), count)


def _weigh(scores: Array, ids: Array, scalars: Scalars) -> Arrays:
    chosen = np.take_along_axis(scores, ids, axis=1)
    total = chosen.sum(axis=1, keepdims=True) if scalars["renormalise"] else 1.0
    return {"weights": chosen / total * scalars["scaling"], "ids": ids.astype(np.int32)}


def topk_softmax(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"weights", "ids"}, both [M, top], of logits [M, E]."""
    logits = widen(arrays["logits"])
    with np.errstate(all="ignore"):
        parts = np.exp(logits - np.fmax.reduce(logits, axis=1, keepdims=True))
        return _weigh(
            parts / parts.sum(axis=1, keepdims=True),
            _choose(logits, scalars["top"], np.ones(logits.shape, bool)),
            scalars,
        )


def _keep_groups(choice: Array, groups: int, keep: int) -> Array:
    """bool [M, E]: experts of the `keep` groups whose two best choices have the largest sum."""
    grid = choice.reshape(len(choice), groups, -1)
    best = np.sort(np.where(np.isnan(grid), -np.inf, grid), axis=2)[:, :, -2:].sum(axis=2, dtype=np.float32)
    kept = np.zeros(best.shape, bool)
    np.put_along_axis(kept, _choose(best, keep, np.ones(best.shape, bool)), values=True, axis=1)
    return np.repeat(kept, grid.shape[2], axis=1)


def topk_sigmoid(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"weights", "ids"}, both [M, top], of logits [M, E] and bias [E]."""
    scores = sigmoid(widen(arrays["logits"]))
    choice = scores.astype(np.float32) + arrays.get("bias", np.float32(0.0))
    is_open = _keep_groups(choice, scalars["groups"], scalars["keep"])
    with np.errstate(all="ignore"):
        return _weigh(scores, _choose(choice, scalars["top"], is_open), scalars)


REFERENCES = {"topk_softmax": topk_softmax, "topk_sigmoid": topk_sigmoid}
