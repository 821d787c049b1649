"""Sizes, weights and tokens of the tiny transformer → NumPy arrays, the same on every machine, and how to train it.

x = embed[tokens]; then, LAYERS times, with the weights "0.norm", "0.q", ... of a layer:

    h = rms_norm(x, norm, eps=EPS)
    q, k, v = gemm(h, q), gemm(h, k), gemm(h, v)           to [tokens, heads, HEAD]
    q, k = rope(q, cos, sin, positions), rope(k, ...)      rotary positions count within a sequence
    out = attention_prefill(q, k, v, starts, starts, scale=HEAD ** -0.5, max_seqlen_q=max(LENGTHS)), causal, in f16
    x = x + gemm(out, o)
    x = x + gemm(gemm_swiglu(rms_norm(x, mlp_norm, eps=EPS), gate_up), down)

logits = gemm(rms_norm(x, norm, eps=EPS), head) with the weights "norm" and "head". The loss is the mean of the negative
log-softmax at the targets. All is f32 but attention. One step: velocity = MOMENTUM * velocity + slope; weight -= RATE *
velocity. The batch of step n is batches[n % len(batches)]. losses.json holds the loss of each step before its update.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
SEED = 20260
VOCABULARY, WIDTH, HIDDEN, LAYERS = 32, 64, 96, 2
HEADS, KEY_HEADS, HEAD = 4, 2, 16
LENGTHS = (16, 9, 12, 16)
"""Of the packed sequences of a batch."""
EPS, RATE, MOMENTUM, STEPS = 1e-5, 0.005, 0.9, 50
LOSSES_PATH = Path(__file__).with_name("losses.json")
TOLERANCE = 5e-4
"""Of a loss, relative; attention's f16 makes 7e-5 of it in JAX."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """i32 arrays: `tokens`, `targets` and `positions` [sum of LENGTHS], `starts` [sequences + 1]."""

    tokens: Array
    targets: Array
    positions: Array
    starts: Array


def make_weights() -> dict[str, Array]:
    """f32 weights by name, in the order in which they are drawn; a matrix is [outputs, inputs]."""
    generator = np.random.default_rng(SEED)
    weights: dict[str, Array] = {"embed": _draw(generator, VOCABULARY, WIDTH) * 8}
    for layer in range(LAYERS):
        weights[f"{layer}.norm"] = np.ones(WIDTH, np.float32)
        for name, heads in (("q", HEADS), ("k", KEY_HEADS), ("v", KEY_HEADS)):
            weights[f"{layer}.{name}"] = _draw(generator, heads * HEAD, WIDTH)
        weights[f"{layer}.o"] = _draw(generator, WIDTH, HEADS * HEAD)
        weights[f"{layer}.mlp_norm"] = np.ones(WIDTH, np.float32)
        weights[f"{layer}.gate_up"] = _draw(generator, 2 * HIDDEN, WIDTH)
        weights[f"{layer}.down"] = _draw(generator, WIDTH, HIDDEN)
    return weights | {"norm": np.ones(WIDTH, np.float32), "head": _draw(generator, VOCABULARY, WIDTH)}


def _draw(generator: np.random.Generator, rows: int, columns: int) -> Array:
    """Normal numbers, so small that a product with a normal row is normal."""
    return (generator.standard_normal((rows, columns)) / np.sqrt(columns)).astype(np.float32)


def make_batches(count: int = 4) -> tuple[Batch, ...]:
    """Sequences in which each token but the first is 5 times the last plus 3, or now and then any other."""
    generator = np.random.default_rng(SEED + 1)
    starts = np.cumsum([0, *LENGTHS]).astype(np.int32)
    positions = np.concatenate([np.arange(length) for length in LENGTHS]).astype(np.int32)
    batches = []
    for _ in range(count):
        rows = [_draw_sequence(generator, length + 1) for length in LENGTHS]
        tokens, targets = (np.concatenate([row[part] for row in rows]) for part in (slice(None, -1), slice(1, None)))
        batches.append(Batch(tokens=tokens, targets=targets, positions=positions, starts=starts))
    return tuple(batches)


def _draw_sequence(generator: np.random.Generator, length: int) -> Array:
    tokens = [int(generator.integers(VOCABULARY))]
    for _ in range(length - 1):
        is_other = generator.random() < 0.1
        tokens.append(int(generator.integers(VOCABULARY)) if is_other else (5 * tokens[-1] + 3) % VOCABULARY)
    return np.array(tokens, np.int32)


def make_tables() -> tuple[Array, Array]:
    """Cos and sin f32 [longest sequence, HEAD / 2]."""
    angles = np.arange(max(LENGTHS))[:, None] * 10000.0 ** (-np.arange(0, HEAD, 2) / HEAD)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def read_losses() -> list[float]:
    """Of each step, in float64: `python -m training.reference`."""
    return [float(loss) for loss in json.loads(LOSSES_PATH.read_text(encoding="utf-8"))]


def find_miss(losses: list[float]) -> str:
    """The first step whose loss is off by more than TOLERANCE, in words; "" if there is none."""
    wanted = read_losses()
    if len(losses) != len(wanted):
        return f"{len(losses)} losses, not {len(wanted)}"
    pairs = enumerate(zip(losses, wanted, strict=True))
    return next(
        (f"step {step}: {got}, not {loss}" for step, (got, loss) in pairs if not abs(got / loss - 1) <= TOLERANCE), ""
    )
