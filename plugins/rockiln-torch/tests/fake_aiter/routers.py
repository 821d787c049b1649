"""AITER's routers, in plain torch. See references.py."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor


def _write(v: SimpleNamespace, weights: Tensor, ids: Tensor, *, renormalises: bool, scaling: float = 1.0) -> None:
    weights = weights / weights.sum(-1, keepdim=True) if renormalises else weights
    v.topk_weights.copy_(weights * scaling)
    (v.topk_indices if hasattr(v, "topk_indices") else v.topk_ids).copy_(ids)


def _softmax(v: SimpleNamespace) -> None:
    rows, top = v.topk_indices.shape
    weights, ids = v.gating_output.float().softmax(-1).topk(top, dim=-1)
    _write(v, weights, ids, renormalises=v.need_renorm)
    for row in range(rows):
        for place in range(top):
            v.token_expert_indices[row, place] = place * rows + row


def _sigmoid(v: SimpleNamespace) -> None:
    weights, ids = v.gating_output.float().sigmoid().topk(v.topk_indices.shape[1], dim=-1)
    _write(v, weights, ids, renormalises=False)


def _choose(v: SimpleNamespace, logits: Tensor, bias: Tensor, *, renormalises: bool) -> None:
    """DeepSeek's: the groups with the best sum of two, then the best of their experts."""
    scores = logits.float().sigmoid()
    judged = (scores + bias.float()).unflatten(-1, (v.num_expert_group, -1))
    kept = judged.topk(2, dim=-1).values.sum(-1).topk(v.topk_group, dim=-1).indices
    mask = torch.zeros(judged.shape[:2], dtype=torch.bool).scatter_(1, kept, True)
    ids = judged.masked_fill(~mask.unsqueeze(-1), -torch.inf).flatten(1).topk(v.topk_ids.shape[1], dim=-1).indices
    _write(v, scores.gather(1, ids), ids, renormalises=renormalises, scaling=v.routed_scaling_factor)


def _biased(v: SimpleNamespace) -> None:
    _choose(v, v.gating_output, v.correction_bias, renormalises=v.need_renorm)


def _fused_gate(v: SimpleNamespace) -> tuple[Tensor, Tensor]:
    _choose(v, v.input, v.bias, renormalises=True)
    return v.topk_weights, v.topk_ids


def _grouped(v: SimpleNamespace) -> None:
    wide = v.gating_output.float()
    weights, ids = (wide.softmax(-1) if v.is_softmax else wide.sigmoid()).topk(v.topk_ids.shape[1], dim=-1)
    _write(v, weights, ids, renormalises=v.need_renorm, scaling=v.routed_scaling_factor)


def _fused(v: SimpleNamespace) -> tuple[Tensor, Tensor]:
    weights, ids = v.gating_output.float().softmax(-1).topk(v.topk, dim=-1)
    return weights / weights.sum(-1, keepdim=True) if v.renormalize else weights, ids.int()


REFERENCES: dict[str, Callable[[SimpleNamespace], Any]] = {
    "topk_softmax": _softmax,
    "topk_sigmoid": _sigmoid,
    "biased_grouped_topk": _biased,
    "moe_fused_gate": _fused_gate,
    "grouped_topk": _grouped,
    "fused_topk": _fused,
}
