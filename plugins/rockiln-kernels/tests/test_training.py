"""The tiny transformer's float64 losses: slopes by differences, and the kept losses are those of the recipe."""

from __future__ import annotations

import numpy as np
import pytest

from training.recipe import find_miss, make_batches, make_weights, read_losses
from training.reference import run_model, train


def test_slopes_are_those_of_differences() -> None:
    weights = {name: value.astype(np.float64) for name, value in make_weights().items()}
    [batch, *_] = make_batches()
    _, slopes = run_model(weights, batch)
    generator, step = np.random.default_rng(0), 1e-5
    for name, value in weights.items():
        way = generator.standard_normal(value.shape)
        one, other = (run_model({**weights, name: value + sign * step * way}, batch)[0] for sign in (1, -1))
        assert (one - other) / (2 * step) == pytest.approx(float((slopes[name] * way).sum()), rel=1e-6, abs=1e-8), name


def test_kept_losses_are_the_recipes() -> None:
    losses = train()
    assert losses == pytest.approx(read_losses(), rel=1e-6)
    assert losses[-1] < 0.6 * losses[0]
    assert find_miss(losses) == ""
    assert find_miss([*losses[:7], losses[7] * 1.01, *losses[8:]]).startswith("step 7: ")
