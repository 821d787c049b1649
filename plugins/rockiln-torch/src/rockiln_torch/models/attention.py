"""Transformers' query, key, value and mask → rockiln's attention, as the attention implementation "rockiln".

`model.set_attn_implementation("rockiln")` after `register_attention()`. Sequences without padding, or with a mask of
padding outside torch.compile, go through attention_prefill, windows and sinks included. Other masks (packed sequences,
static caches, padding within torch.compile) and dropout go through scaled_dot_product_attention or its spelling.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from rockiln_torch import ops

NAME = "rockiln"


def register_attention() -> None:
    """Make the implementation known to Transformers; again is the same. Raises ImportError where it is missing."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface

    AttentionInterface.register(NAME, attend_model)
    AttentionMaskInterface.register(NAME, make_mask)


def make_mask(*, allow_is_causal_skip: bool = True, **words: Any) -> Tensor | None:
    """None where only causality or a window masks; with padding [B, keys]; of other masks [B, 1, L, S]."""
    from transformers.masking_utils import sdpa_mask

    padding = words.get("attention_mask")
    own: Tensor | None = None if padding is None else padding[:, -words["kv_length"] :].bool()
    is_traced = own is not None and torch.compiler.is_compiling()
    if not allow_is_causal_skip or is_traced or (own is not None and own.shape[1] != words["kv_length"]):
        own = sdpa_mask(**words, allow_is_causal_skip=False)
    elif own is not None and bool(own.all()):
        own = None
    return own


def attend_model(  # noqa: PLR0913, PLR0917  # Transformers' own arguments
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    sliding_window: int | None = None,
    s_aux: Tensor | None = None,
    is_causal: bool | None = None,
    **words: Any,
) -> tuple[Tensor, None]:
    """out [B, L, H, DV] of query [B, H, L, D], key and value [B, HK, S, D]; attention weights are never given.

    Raises ValueError for a soft cap, which no kernel here has.
    """
    if words.get("softcap") is not None:
        raise ValueError("rockiln attention has no soft cap; hint: model.set_attn_implementation('eager')")
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    causal = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)
    if dropout or (attention_mask is not None and attention_mask.ndim == 4):
        mask = (
            attention_mask
            if attention_mask is not None and attention_mask.ndim == 4
            else _make_whole_mask(query, key, attention_mask, causal=causal, window=sliding_window)
        )
        return _attend_masked(query, key, value, mask, scale, dropout, s_aux), None
    call = {
        "sinks": None if s_aux is None else s_aux.float(),
        "scale": scale,
        "causal": causal,
        "window_left": -1 if sliding_window is None else sliding_window - 1,
    }
    if attention_mask is not None:
        return _attend_padded(query, key, value, attention_mask, call), None
    starts = words.get("cu_seq_lens_q"), words.get("cu_seq_lens_k")
    return _attend_packed(query, key, value, starts, call), None


def _pack_rows(x: Tensor) -> Tensor:
    """[B * L, H, D] of [B, H, L, D]; a view where projections made it."""
    return x.transpose(1, 2).reshape(-1, x.shape[1], x.shape[3])


def _attend_packed(
    query: Tensor, key: Tensor, value: Tensor, starts: tuple[Tensor | None, Tensor | None], call: dict[str, Any]
) -> Tensor:
    batch, heads, queries, _ = query.shape
    keys = key.shape[2]
    own = [
        torch.arange(0, (batch + 1) * size, size, dtype=torch.int32, device=query.device)
        if given is None
        else given.int()
        for size, given in ((queries, starts[0]), (keys, starts[1]))
    ]
    packed = (_pack_rows(part) for part in (query, key, value))
    out, _ = ops.attention_prefill(*packed, *own, max_seqlen_q=queries, max_seqlen_k=keys, **call)
    return out.view(batch, queries, heads, value.shape[3])


def _attend_padded(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, call: dict[str, Any]) -> Tensor:
    """Only what is no padding, wherever it is; padded queries give 0."""
    batch, heads, queries, _ = query.shape
    own_mask = mask[:, -queries:]
    rows, columns = own_mask.flatten().nonzero().flatten(), mask.flatten().nonzero().flatten()
    starts = [functional.pad(each.sum(dim=1).cumsum(0), (1, 0)).to(torch.int32) for each in (own_mask, mask)]
    q = _pack_rows(query).index_select(0, rows)
    k, v = (_pack_rows(part).index_select(0, columns) for part in (key, value))
    out, _ = ops.attention_prefill(q, k, v, *starts, max_seqlen_q=queries, max_seqlen_k=key.shape[2], **call)
    whole = out.new_zeros(batch * queries, heads, value.shape[3]).index_copy(0, rows, out)
    return whole.view(batch, queries, heads, value.shape[3])


def _make_whole_mask(query: Tensor, key: Tensor, padding: Tensor | None, *, causal: bool, window: int | None) -> Tensor:
    queries, keys = query.shape[2], key.shape[2]
    distance = (
        torch.arange(keys, device=query.device) - torch.arange(keys - queries, keys, device=query.device)[:, None]
    )
    seen = distance <= 0 if causal else torch.ones_like(distance, dtype=torch.bool)
    seen = seen if window is None else seen & (distance > -window)
    return seen[None, None] if padding is None else seen & padding[:, None, None, :]


def _attend_masked(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scale: float, dropout: float, sinks: Tensor | None
) -> Tensor:
    group = query.shape[1] // key.shape[1]
    key, value = (part.repeat_interleave(group, dim=1) if group > 1 else part for part in (key, value))
    if sinks is None:
        out = functional.scaled_dot_product_attention(query, key, value, mask, dropout, scale=scale)
        return out.transpose(1, 2).contiguous()
    scores = (query @ key.transpose(2, 3) * scale).float()
    scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    column = sinks.float().view(1, -1, 1, 1).expand(*scores.shape[:3], 1)
    weights = torch.cat((scores, column), dim=-1).softmax(-1)[..., :-1].to(query.dtype)
    return (functional.dropout(weights, dropout) @ value).transpose(1, 2).contiguous()
