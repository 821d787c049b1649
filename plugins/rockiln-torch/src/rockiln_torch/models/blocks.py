"""Transformers' blocks → the same forward on rockiln's ops. Each takes the module first, as a method does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from rockiln_torch import ops


def forward_norm(self: Any, hidden_states: Tensor) -> Tensor:
    """LlamaRMSNorm and its copies."""
    return ops.rms_norm(hidden_states, self.weight.to(hidden_states.dtype), eps=self.variance_epsilon)


def forward_mlp(self: Any, x: Tensor) -> Tensor:
    """LlamaMLP and its copies. gate_proj and up_proj are called as they are, adapters and hooks included."""
    both = torch.cat((self.gate_proj(x), self.up_proj(x)), dim=-1)
    down: Tensor = self.down_proj(ops.silu_and_mul(both))
    return down


def forward_experts(self: Any, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor) -> Tensor:
    """DeepseekV3Experts, Qwen3MoeExperts: gate_up_proj [E, 2 I, H], down_proj [E, H, I]."""
    routes = top_k_weights.float(), top_k_index.int()
    return ops.fused_moe(hidden_states, self.gate_up_proj, self.down_proj, *routes)


def forward_gpt_oss_experts(
    self: Any, hidden_states: Tensor, router_indices: Tensor, routing_weights: Tensor
) -> Tensor:
    """GptOssExperts: gate_up_proj [E, H, 2 I] and down_proj [E, I, H], which kernels take the other way round."""
    return ops.fused_moe(
        hidden_states,
        self.gate_up_proj.transpose(1, 2),
        self.down_proj.transpose(1, 2),
        routing_weights.float(),
        router_indices.int(),
        self.gate_up_proj_bias,
        self.down_proj_bias,
        interleaved=True,
        alpha=self.alpha,
        limit=self.limit,
        up_offset=1.0,
    )


def forward_deepseek_router(self: Any, hidden_states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """DeepseekV3TopkRouter."""
    rows = hidden_states.view(-1, self.hidden_dim)
    logits = functional.linear(rows.float(), self.weight.float())
    weights, ids = ops.topk_sigmoid(
        logits,
        self.e_score_correction_bias.float(),
        top=self.top_k,
        renormalise=bool(self.norm_topk_prob),
        scaling=float(self.routed_scaling_factor),
        groups=self.num_group,
        keep=self.topk_group,
    )
    return logits, weights, ids.long()


def forward_softmax_router(self: Any, hidden_states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """GptOssTopKRouter and Qwen3MoeTopKRouter: a softmax over the choices is that over all, renormalised."""
    rows = hidden_states.reshape(-1, self.hidden_dim)
    logits = functional.linear(rows, self.weight, getattr(self, "bias", None))
    renormalise = bool(getattr(self, "norm_topk_prob", True))
    weights, ids = ops.topk_softmax(logits, top=self.top_k, renormalise=renormalise)
    return logits, weights.to(logits.dtype), ids.long()


def turn_pair(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, unsqueeze_dim: int = 1) -> tuple[Tensor, Tensor]:
    """apply_rotary_pos_emb: q and k [B, H, L, D], with unsqueeze_dim=2 [B, L, H, D]; cos and sin [B, L, D] or half."""
    return _turn(q, cos, sin, unsqueeze_dim), _turn(k, cos, sin, unsqueeze_dim)


def turn_pair_interleaved(
    q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, position_ids: Tensor | None = None, unsqueeze_dim: int = 1
) -> tuple[Tensor, Tensor]:
    """apply_rotary_pos_emb_interleave: pairs lie side by side, and come out in halves."""
    del position_ids
    halves = (torch.cat((x[..., 0::2], x[..., 1::2]), dim=-1) for x in (q, k))
    first, second = (_turn(x, cos, sin, unsqueeze_dim) for x in halves)
    return first, second


def _turn(x: Tensor, cos: Tensor, sin: Tensor, heads_dim: int) -> Tensor:
    rows = x.transpose(1, 2) if heads_dim == 1 else x
    batch, length, _, width = rows.shape
    own_cos, own_sin = (table[..., : width // 2].reshape(-1, width // 2).float() for table in (cos, sin))
    places = torch.arange(own_cos.shape[0], dtype=torch.int32, device=x.device)
    places = places if own_cos.shape[0] == batch * length else places.repeat(batch)
    y = ops.rope(rows, own_cos, own_sin, places)
    return y.transpose(1, 2) if heads_dim == 1 else y


Forward = Callable[..., Any]
FORWARDS: dict[str, Forward] = {
    **{f"{family}RMSNorm": forward_norm for family in ("Llama", "Qwen3", "Qwen3Moe", "DeepseekV3", "GptOss")},
    **{f"{family}MLP": forward_mlp for family in ("Llama", "Qwen3", "Qwen3Moe", "DeepseekV3")},
    "DeepseekV3Experts": forward_experts,
    "Qwen3MoeExperts": forward_experts,
    "GptOssExperts": forward_gpt_oss_experts,
    "DeepseekV3TopkRouter": forward_deepseek_router,
    "Qwen3MoeTopKRouter": forward_softmax_router,
    "GptOssTopKRouter": forward_softmax_router,
}
"""Class of Transformers → forward."""
ROTARY: dict[str, Forward] = {
    "apply_rotary_pos_emb": turn_pair,
    "apply_rotary_pos_emb_interleave": turn_pair_interleaved,
}
"""Function of a modeling module → ours."""
FAMILIES = ("llama", "qwen3", "qwen3_moe", "deepseek_v3", "gpt_oss")
"""Models whose modules are patched; others are left alone, as their blocks may be called the same and do otherwise."""


def find_reason(module: nn.Module) -> str:
    """Why a module of a known class stays as it is; empty where it does not."""
    name = type(module).__name__
    activation = getattr(getattr(module, "config", None), "hidden_act", "silu")
    if name.endswith("MLP") and activation not in {"silu", "swish"}:
        return f"its activation is {activation}, not silu"
    if name.endswith("Experts") and not isinstance(module.gate_up_proj, nn.Parameter):
        return "its weights are not plain parameters"
    if name.endswith("Experts") and module.gate_up_proj.ndim != 3:
        return "its weights are packed already"
    return "" if hasattr(module, "forward") else "it has no forward"
