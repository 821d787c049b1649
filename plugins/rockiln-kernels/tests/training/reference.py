"""The recipe in float64 by NumPy, slopes written out → losses.json: `python -m training.reference`, from tests/.

Each function gives its result, and a function of the result's slope that gives the slopes of what it was given.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from training.recipe import (
    EPS,
    HEAD,
    HEADS,
    KEY_HEADS,
    LAYERS,
    LOSSES_PATH,
    MOMENTUM,
    RATE,
    STEPS,
    Array,
    Batch,
    make_batches,
    make_tables,
    make_weights,
)

Pull = Callable[[Array], Any]
Weights = dict[str, Array]


def normalise(x: Array, weight: Array) -> tuple[Array, Pull]:
    """rms_norm."""
    inverse = 1 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + EPS)
    normal = x * inverse

    def pull(dy: Array) -> tuple[Array, Array]:
        own = dy * weight
        dx = inverse * (own - normal * np.mean(own * normal, axis=-1, keepdims=True))
        return dx, np.sum(dy * normal, axis=0)

    return normal * weight, pull


def multiply(x: Array, weight: Array) -> tuple[Array, Pull]:
    """gemm."""
    return x @ weight.T, lambda dy: (dy @ weight, dy.T @ x)


def rotate(x: Array, cos: Array, sin: Array) -> Array:
    """rope of x [tokens, heads, HEAD] with cos and sin [tokens, 1, HEAD / 2]; with -sin, its pull."""
    one, other = np.split(x, 2, axis=-1)
    return np.concatenate((one * cos - other * sin, other * cos + one * sin), axis=-1)


def attend(q: Array, k: Array, v: Array, starts: Array) -> tuple[Array, Pull]:
    """attention_prefill, causal; heads of q share those of k and v."""
    group, scale = q.shape[1] // k.shape[1], HEAD**-0.5
    out, kept = np.zeros(q.shape), []
    for first, last in pairwise(starts.tolist()):
        rows = slice(first, last)
        for head in range(q.shape[1]):
            own = head // group
            scores = q[rows, head] @ k[rows, own].T * scale
            scores[np.triu_indices(last - first, 1)] = -np.inf
            parts = np.exp(scores - scores.max(axis=1, keepdims=True))
            weights = parts / parts.sum(axis=1, keepdims=True)
            out[rows, head] = weights @ v[rows, own]
            kept.append((rows, head, own, weights))

    def pull(dout: Array) -> tuple[Array, Array, Array]:
        dq, dk, dv = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
        for rows, head, own, weights in kept:
            dweights = dout[rows, head] @ v[rows, own].T
            dscores = weights * (dweights - np.sum(dweights * weights, axis=1, keepdims=True)) * scale
            dq[rows, head] = dscores @ k[rows, own]
            dk[rows, own] += dscores.T @ q[rows, head]
            dv[rows, own] += weights.T @ dout[rows, head]
        return dq, dk, dv

    return out, pull


def gate(x: Array) -> tuple[Array, Pull]:
    """silu(first half) * second half."""
    g, u = np.split(x, 2, axis=-1)
    sigmoid = 1 / (1 + np.exp(-g))

    def pull(dy: Array) -> Array:
        return np.concatenate((dy * u * sigmoid * (1 + g * (1 - sigmoid)), dy * g * sigmoid), axis=-1)

    return g * sigmoid * u, pull


def run_attention(x: Array, own: Weights, batch: Batch) -> tuple[Array, Pull]:
    """x and what a layer's attention adds; the pull gives the slope of x, and those of weights by name."""
    cos, sin = (table.astype(np.float64)[batch.positions][:, None] for table in make_tables())
    h, pull_norm = normalise(x, own["norm"])
    (q, pull_q), (k, pull_k), (v, pull_v) = (multiply(h, own[name]) for name in "qkv")
    heads = [part.reshape(len(x), count, HEAD) for part, count in ((q, HEADS), (k, KEY_HEADS), (v, KEY_HEADS))]
    out, pull_out = attend(rotate(heads[0], cos, sin), rotate(heads[1], cos, sin), heads[2], batch.starts)
    added, pull_o = multiply(out.reshape(len(x), -1), own["o"])

    def pull(dy: Array) -> tuple[Array, Weights]:
        dout, do = pull_o(dy)
        dq, dk, dv = pull_out(dout.reshape(out.shape))
        slopes: Weights = {"o": do}
        parts = []
        for name, pull_part, slope in (
            ("q", pull_q, rotate(dq, cos, -sin)), ("k", pull_k, rotate(dk, cos, -sin)), ("v", pull_v, dv),
        ):  # fmt: skip
            part, slopes[name] = pull_part(slope.reshape(len(x), -1))
            parts.append(part)
        dx, slopes["norm"] = pull_norm(sum(parts))
        return dy + dx, slopes

    return x + added, pull


def run_mlp(x: Array, own: Weights) -> tuple[Array, Pull]:
    """x and what a layer's MLP adds."""
    h, pull_norm = normalise(x, own["mlp_norm"])
    both, pull_both = multiply(h, own["gate_up"])
    hidden, pull_gate = gate(both)
    added, pull_down = multiply(hidden, own["down"])

    def pull(dy: Array) -> tuple[Array, Weights]:
        dhidden, ddown = pull_down(dy)
        dh, dgate_up = pull_both(pull_gate(dhidden))
        dx, dnorm = pull_norm(dh)
        return dy + dx, {"down": ddown, "gate_up": dgate_up, "mlp_norm": dnorm}

    return x + added, pull


def run_model(weights: Weights, batch: Batch) -> tuple[float, Weights]:
    """The loss, and the slope of each weight."""
    x, pulls = weights["embed"][batch.tokens], []
    for layer in range(LAYERS):
        prefix = f"{layer}."
        own = {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
        for run in (lambda x, own=own: run_attention(x, own, batch), lambda x, own=own: run_mlp(x, own)):
            x, pull = run(x)
            pulls.append((prefix, pull))
    normal, pull_norm = normalise(x, weights["norm"])
    logits, pull_head = multiply(normal, weights["head"])
    shifted = logits - logits.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    rows = np.arange(len(x))
    dlogits = np.exp(logs)
    dlogits[rows, batch.targets] -= 1
    slopes: Weights = {}
    dnormal, slopes["head"] = pull_head(dlogits / len(x))
    dx, slopes["norm"] = pull_norm(dnormal)
    for prefix, pull in reversed(pulls):
        dx, own = pull(dx)
        slopes |= {prefix + name: value for name, value in own.items()}
    slopes["embed"] = np.zeros(weights["embed"].shape)
    np.add.at(slopes["embed"], batch.tokens, dx)
    return float(-logs[rows, batch.targets].mean()), slopes


def train(steps: int = STEPS) -> list[float]:
    """The loss of each step."""
    weights = {name: value.astype(np.float64) for name, value in make_weights().items()}
    velocity = {name: np.zeros(value.shape) for name, value in weights.items()}
    batches, losses = make_batches(), []
    for step in range(steps):
        loss, slopes = run_model(weights, batches[step % len(batches)])
        losses.append(loss)
        for name, value in weights.items():
            velocity[name] = MOMENTUM * velocity[name] + slopes[name]
            weights[name] = value - RATE * velocity[name]
    return losses


if __name__ == "__main__":
    LOSSES_PATH.write_text(json.dumps([round(loss, 9) for loss in train()], indent=1) + "\n", encoding="utf-8")
