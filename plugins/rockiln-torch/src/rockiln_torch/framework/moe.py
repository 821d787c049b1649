"""fused_moe and its narrow kinds → compositions: the tokens of some experts at a time, added up in f32."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor

from rockiln_torch.framework.gates import apply_gate, gate_silu
from rockiln_torch.framework.gemms import widen_blocks
from rockiln_torch.framework.narrow import dequantise_mx
from rockiln_torch.framework.products import multiply
from rockiln_torch.framework.tensors import join, needs_gradient, read_numbers, widen

PLAIN_GATE = {"limit": 0.0, "alpha": 1.0, "up_offset": 0.0, "interleaved": False}
"""silu(g) u: the gate of gemm_swiglu, too."""
GATHERED_ELEMENTS = 1 << 20
"""Of x, which are gathered for some experts at once: where each has few tokens, that saves most of the calls."""
Expert = Callable[[int], tuple[Tensor, Tensor]]
"""An expert's number → its gate_up [N2, K] and down [K, N2 / 2], in the dtype they are multiplied in."""


def mix_experts(
    x: Tensor,
    read_expert: Expert,
    experts: int,
    weights: Tensor,
    ids: Tensor,
    biases: tuple[Tensor | None, Tensor | None],
    **gate: Any,
) -> Tensor:
    """out like x [..., K]; an id that is no expert's adds nothing."""
    if not x.shape[-1]:
        return torch.zeros_like(x)  # how many rows are there cannot be told from their numbers
    rows, top, scalars = x.reshape(-1, x.shape[-1]), ids.shape[-1], {**PLAIN_GATE, **gate}
    out = torch.zeros_like(widen(rows), memory_format=torch.contiguous_format)
    flat = ids.reshape(-1)
    order = flat.sort(stable=True).indices
    share, places = widen(weights).reshape(-1, 1)[order], order // top if top > 1 else order
    counts = read_numbers(torch.bincount(flat[(flat >= 0) & (flat < experts)], minlength=experts))
    start = int((flat < 0).sum())
    for group in _group_experts(counts, max(1, GATHERED_ELEMENTS // max(1, x.shape[-1]))):
        end = start + sum(group.values())
        tokens = places[start:end]
        own_rows = rows.index_select(0, tokens).split(list(group.values()))
        parts = [
            _run_expert(own, read_expert(expert), _pick(biases[0], expert), _pick(biases[1], expert), scalars)
            for expert, own in zip(group, own_rows, strict=True)
        ]
        part = (widen(join(parts, 0)) * share[start:end]).to(out.dtype)
        out = out.index_add(0, tokens, part) if needs_gradient(part) else out.index_add_(0, tokens, part)
        start = end
    return out.to(x.dtype).reshape(x.shape)


def _group_experts(counts: list[int], rows: int) -> Iterator[dict[int, int]]:
    """Experts that are hit, and how often: so many in a group that it has `rows` hits or more, but for the last."""
    group: dict[int, int] = {}
    hits = 0
    for expert, count in enumerate(counts):
        if count:
            group[expert] = count
            hits += count
        if hits >= rows:
            yield group
            group, hits = {}, 0
    if group:
        yield group


def _pick(bias: Tensor | None, expert: int) -> Tensor | None:
    return None if bias is None else bias[expert]


def _run_expert(
    rows: Tensor, weights: tuple[Tensor, Tensor], bias: Tensor | None, down_bias: Tensor | None, gate: dict[str, Any]
) -> Tensor:
    gate_up, down = weights
    if gate_up.dtype != rows.dtype or down.dtype != rows.dtype:
        gate_up, down = (weight.to(torch.promote_types(rows.dtype, weight.dtype)) for weight in weights)
    hidden = _hide(rows, gate_up, _match(bias, gate_up), gate)
    return multiply(hidden.to(down.dtype), down, _match(down_bias, down))


def _match(bias: Tensor | None, weight: Tensor) -> Tensor | None:
    return None if bias is None else bias.to(weight.dtype)


def _hide(rows: Tensor, gate_up: Tensor, bias: Tensor | None, gate: dict[str, Any]) -> Tensor:
    """The hidden values of an expert, in the dtype of rows; by kernels for CPUs where autograd need not follow."""
    if rows.device.type != "cpu" or gate_up.dtype != rows.dtype or needs_gradient(rows, gate_up, bias):
        return apply_gate(multiply(rows.to(gate_up.dtype), gate_up, bias), gate_silu, **gate).to(rows.dtype)
    hidden: Tensor
    if gate == {**PLAIN_GATE, "interleaved": gate["interleaved"]}:
        hidden = torch.ops.rockiln.gemm_swiglu.default(rows, gate_up, bias, interleaved=gate["interleaved"])
    else:
        hidden = torch.ops.rockiln.swiglu_and_mul.default(multiply(rows, gate_up, bias), **gate)
    return hidden


def fused_moe(
    x: Tensor,
    gate_up: Tensor,
    down: Tensor,
    weights: Tensor,
    ids: Tensor,
    gate_up_bias: Tensor | None = None,
    down_bias: Tensor | None = None,
    **gate: Any,
) -> tuple[Tensor]:
    """out like x [..., K]; gate_up [E, N2, K], down [E, K, N2 / 2], weights and ids [..., top]."""
    biases = gate_up_bias, down_bias
    return (mix_experts(x, lambda expert: (gate_up[expert], down[expert]), len(gate_up), weights, ids, biases, **gate),)


def fused_moe_narrow(
    widen_weights: Callable[[Tensor, Tensor], Tensor],
    x: Tensor,
    gate_up: Tensor,
    gate_up_scale: Tensor,
    down: Tensor,
    down_scale: Tensor,
    weights: Tensor,
    ids: Tensor,
    gate_up_bias: Tensor | None = None,
    down_bias: Tensor | None = None,
    **gate: Any,
) -> tuple[Tensor]:
    """out like x; weights with scales, which `widen_weights` makes f32, an expert at a time."""

    def read_expert(expert: int) -> tuple[Tensor, Tensor]:
        return (
            widen_weights(gate_up[expert], gate_up_scale[expert]),
            widen_weights(down[expert], down_scale[expert]),
        )

    biases = gate_up_bias, down_bias
    return (mix_experts(x, read_expert, len(gate_up), weights, ids, biases, **gate),)


COMPOSITIONS: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    "fused_moe": fused_moe,
    "fused_moe_mxfp4": partial(fused_moe_narrow, partial(dequantise_mx, form="e2m1")),
    "fused_moe_fp8": partial(fused_moe_narrow, widen_blocks),
}
