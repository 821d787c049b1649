"""The tiny transformer of rockiln-kernels' tests, trained 50 steps by torch: the losses that float64 gives."""

from __future__ import annotations

import torch
from torch import Tensor

from rockiln_torch import ops
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

Weights = dict[str, Tensor]


def attend(x: Tensor, weights: Weights, layer: int, batch: Batch) -> Tensor:
    """x and what a layer's attention adds."""
    h = ops.rms_norm(x, weights[f"{layer}.norm"], eps=EPS)
    q, k, v = (
        ops.gemm(h, weights[f"{layer}.{name}"]).reshape(len(x), heads, HEAD)
        for name, heads in (("q", HEADS), ("k", KEY_HEADS), ("v", KEY_HEADS))
    )
    tables = [torch.from_numpy(table) for table in make_tables()]
    positions, starts = torch.from_numpy(batch.positions), torch.from_numpy(batch.starts)
    half = (part.half() for part in (ops.rope(q, *tables, positions), ops.rope(k, *tables, positions), v))
    out, _ = ops.attention_prefill(
        *half, starts, starts, scale=HEAD**-0.5, max_seqlen_q=max(LENGTHS), causal=True
    )  # fmt: skip
    return x + ops.gemm(out.float().reshape(len(x), -1), weights[f"{layer}.o"])


def find_loss(weights: Weights, batch: Batch) -> Tensor:
    """The mean of negative log-softmax at the targets."""
    x = weights["embed"][torch.from_numpy(batch.tokens).long()]
    for layer in range(LAYERS):
        x = attend(x, weights, layer, batch)
        h = ops.rms_norm(x, weights[f"{layer}.mlp_norm"], eps=EPS)
        x = x + ops.gemm(ops.gemm_swiglu(h, weights[f"{layer}.gate_up"]), weights[f"{layer}.down"])
    logits = ops.gemm(ops.rms_norm(x, weights["norm"], eps=EPS), weights["head"])
    return torch.nn.functional.cross_entropy(logits, torch.from_numpy(batch.targets).long())


def test_losses_of_50_steps_are_those_of_float64() -> None:
    batches = make_batches()
    weights = {name: torch.from_numpy(value).requires_grad_() for name, value in make_weights().items()}
    steps = torch.optim.SGD(weights.values(), lr=RATE, momentum=MOMENTUM)
    losses = []
    for number in range(STEPS):
        steps.zero_grad()
        loss = find_loss(weights, batches[number % len(batches)])
        loss.backward()
        steps.step()
        losses.append(loss.item())
    assert find_miss(losses) == ""
