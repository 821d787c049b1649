"""topk_softmax, topk_sigmoid and moe_align → compositions; equal choices go to the lower expert, on every device."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from rockiln_torch.framework.tensors import split_last, widen


def order_choices(values: Tensor, is_open: Tensor | None = None) -> Tensor:
    """i64 keys of values [M, E], all different: by value, of equals the first expert, NaN last, then what is closed."""
    bits = (values.float() + 0.0).contiguous().view(torch.int32)  # -0 becomes 0
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    ordered = ordered.masked_fill(values.isnan(), -(2**31) + 1)
    if is_open is not None:
        ordered = ordered.masked_fill(~is_open, -(2**31))
    places = torch.arange(values.shape[-1] - 1, -1, -1, device=values.device)
    return (ordered.long() << 32) | places


def choose(values: Tensor, count: int, is_open: Tensor | None = None) -> Tensor:
    """i64 places [M, count] of the largest values, the largest first."""
    return order_choices(values, is_open).topk(count, dim=-1).indices


def weigh(scores: Tensor, ids: Tensor, *, renormalise: bool, scaling: float) -> tuple[Tensor, Tensor]:
    """Weights, of the chosen scores, and ids in i32."""
    chosen = scores.gather(-1, ids)
    if renormalise:
        chosen = chosen / chosen.sum(-1, keepdim=True)
    return chosen * scaling if scaling != 1.0 else chosen, ids.int()


def topk_softmax(logits: Tensor, *, top: int, renormalise: bool = True, scaling: float = 1.0) -> tuple[Tensor, Tensor]:
    """weights f32 and ids i32, both [..., top], of logits [..., E]."""
    wide = widen(logits)
    return weigh(wide.softmax(-1), choose(wide, top), renormalise=renormalise, scaling=scaling)


def _keep_groups(choice: Tensor, groups: int, keep: int) -> Tensor:
    """bool [..., E]: experts of the `keep` groups whose two best choices have the largest sum."""
    grid = split_last(choice, groups, choice.shape[-1] // groups)
    best = grid.masked_fill(grid.isnan(), -torch.inf).topk(min(2, grid.shape[-1]), dim=-1).values.sum(-1)
    kept = torch.zeros_like(best, dtype=torch.bool).scatter_(-1, choose(best, keep), value=True)
    return kept.repeat_interleave(grid.shape[-1], dim=-1)


def topk_sigmoid(
    logits: Tensor,
    bias: Tensor | None = None,
    *,
    top: int,
    renormalise: bool = True,
    scaling: float = 1.0,
    groups: int = 1,
    keep: int = 1,
) -> tuple[Tensor, Tensor]:
    """weights f32 and ids i32, both [..., top], of logits [..., E] and bias [E]."""
    scores = widen(logits).sigmoid()
    choice = scores.float() if bias is None else scores.float() + bias.float()
    is_open = _keep_groups(choice, groups, keep) if groups > 1 else None
    return weigh(scores, choose(choice, top, is_open), renormalise=renormalise, scaling=scaling)


def moe_align(ids: Tensor, *, experts: int, block_size: int) -> tuple[Tensor, Tensor, Tensor]:
    """sorted_slots [capacity * block_size], block_experts [capacity] and total [1], in the dtype of ids [..., top]."""
    flat = ids.reshape(-1).long()
    slots = flat.numel()
    capacity = -(-(slots + min(experts, slots) * (block_size - 1)) // block_size)
    owner = torch.where((flat >= 0) & (flat < experts), flat, experts)
    order = owner.sort(stable=True).indices
    counts = owner.new_zeros(experts + 1).scatter_add_(0, owner, torch.ones_like(owner))
    blocks = (counts[:experts] + block_size - 1) // block_size
    first, last = counts.cumsum(0) - counts, blocks.cumsum(0)
    base = torch.cat(((last - blocks) * block_size, last.new_full((1,), capacity * block_size)))
    own = owner[order]
    places = base[own] + torch.arange(slots, device=ids.device) - first[own]
    sorted_slots = owner.new_full((capacity * block_size + slots,), slots)  # the rest takes what is no expert's
    sorted_slots.scatter_(0, places, order)
    sorted_slots = sorted_slots[: capacity * block_size]
    block_experts = torch.searchsorted(last, torch.arange(capacity, device=ids.device), right=True)
    block_experts = block_experts.masked_fill(block_experts >= experts, -1)
    total = last[-1:] * block_size
    return sorted_slots.to(ids.dtype), block_experts.to(ids.dtype), total.to(ids.dtype)


COMPOSITIONS: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    "topk_softmax": topk_softmax,
    "topk_sigmoid": topk_sigmoid,
    "moe_align": moe_align,
}
