"""AITER's routers → topk_softmax and topk_sigmoid. ROCm/aiter e4048607, aiter/ops/moe_op.py, topk.py, fused_moe.py."""

from __future__ import annotations

import torch
from torch import Tensor

from rockiln_torch import ops
from rockiln_torch.aiter.unsupported import refuse, refuse_others


def topk_softmax(
    topk_weights: Tensor,
    topk_indices: Tensor,
    token_expert_indices: Tensor,
    gating_output: Tensor,
    need_renorm: bool,
    num_shared_experts: int = 0,
    shared_expert_scoring_func: str = "",
) -> None:
    """Into topk_weights, f32[M, top], and topk_indices, i32[M, top]; token_expert_indices[m, k] becomes k * M + m."""
    refuse_others("topk_softmax", num_shared_experts=(num_shared_experts, 0))
    refuse_others("topk_softmax", shared_expert_scoring_func=(shared_expert_scoring_func, ""))
    rows, top = topk_indices.shape
    ops.topk_softmax(gating_output, top=top, renormalise=need_renorm, out=(topk_weights, topk_indices))
    places = torch.arange(rows * top, dtype=token_expert_indices.dtype, device=token_expert_indices.device)
    token_expert_indices.copy_(places.view(top, rows).t())


def topk_sigmoid(topk_weights: Tensor, topk_indices: Tensor, gating_output: Tensor) -> None:
    """The top logits, and their sigmoid, not renormalised."""
    top = topk_indices.shape[1]
    ops.topk_sigmoid(gating_output, top=top, renormalise=False, out=(topk_weights, topk_indices))


def biased_grouped_topk(
    gating_output: Tensor,
    correction_bias: Tensor,
    topk_weights: Tensor,
    topk_ids: Tensor,
    num_expert_group: int,
    topk_group: int,
    need_renorm: bool,
    routed_scaling_factor: float = 1.0,
) -> None:
    """DeepSeek's router, into topk_weights, f32[M, top], and topk_ids, i32[M, top]; the largest choice first."""
    ops.topk_sigmoid(
        gating_output,
        correction_bias.float(),
        top=topk_ids.shape[1],
        renormalise=need_renorm,
        scaling=routed_scaling_factor,
        groups=num_expert_group,
        keep=topk_group,
        out=(topk_weights, topk_ids),
    )


def grouped_topk(
    gating_output: Tensor,
    topk_weights: Tensor,
    topk_ids: Tensor,
    num_expert_group: int,
    topk_group: int,
    need_renorm: bool,
    is_softmax: bool = True,
    routed_scaling_factor: float = 1.0,
) -> None:
    """A router of one group; without a bias AITER takes a group by its best choice, for which there is no op here."""
    if num_expert_group != 1:
        raise refuse("grouped_topk", f"num_expert_group = {num_expert_group} is not supported without a bias, only 1")
    refuse_others("grouped_topk", topk_group=(topk_group, 1))
    gate = ops.topk_softmax if is_softmax else ops.topk_sigmoid
    top, targets = topk_ids.shape[1], (topk_weights, topk_ids)
    gate(gating_output, top=top, renormalise=need_renorm, scaling=routed_scaling_factor, out=targets)


def moe_fused_gate(
    input: Tensor,
    bias: Tensor,
    topk_weights: Tensor,
    topk_ids: Tensor,
    num_expert_group: int,
    topk_group: int,
    topk: int,
    n_share_experts_fusion: int,
    routed_scaling_factor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """biased_grouped_topk with renormalisation; its two targets are returned, too."""
    refuse_others("moe_fused_gate", n_share_experts_fusion=(n_share_experts_fusion, 0), topk=(topk, topk_ids.shape[1]))
    biased_grouped_topk(input, bias, topk_weights, topk_ids, num_expert_group, topk_group, True, routed_scaling_factor)
    return topk_weights, topk_ids


def fused_topk(
    hidden_states: Tensor,
    gating_output: Tensor,
    topk: int,
    renormalize: bool,
    topk_ids: Tensor | None = None,
    topk_weights: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """aiter.fused_moe.fused_topk: weights, ids; into the tensors that are given. hidden_states is only counted."""
    rows = gating_output.shape[0]
    if hidden_states.shape[0] != rows:
        raise refuse("fused_topk", f"{hidden_states.shape[0]} hidden states, but {rows} rows of gating_output")
    weights = (
        gating_output.new_empty((rows, topk), dtype=torch.float32) if topk_weights is None else topk_weights[:rows]
    )
    ids = gating_output.new_empty((rows, topk), dtype=torch.int32) if topk_ids is None else topk_ids[:rows]
    ops.topk_softmax(gating_output, top=topk, renormalise=renormalize, out=(weights, ids))
    return weights, ids
