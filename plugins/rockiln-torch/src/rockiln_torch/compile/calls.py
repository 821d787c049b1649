"""Tensors as eager code holds them → rockiln's ops: what graphs call in place of a spelled-out op."""

from __future__ import annotations

import torch
from torch import Tensor

from rockiln_torch import ops


def call_rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Like x."""
    return ops.rms_norm(x, weight.to(x.dtype), eps=eps)


def call_silu_and_mul(g: Tensor, up: Tensor | None = None) -> Tensor:
    """silu(g) * up; of one tensor, that of its halves."""
    return ops.silu_and_mul(g if up is None else torch.cat((g, up), dim=-1))


def call_rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Like x [B, H, L, D] or [B, L, H, D]; cos and sin with 1 in place of H, their halves equal."""
    heads_dim = 1 if cos.shape[1] == 1 and x.shape[2] == cos.shape[2] else 2
    rows = x.transpose(1, 2) if heads_dim == 1 else x
    half = x.shape[-1] // 2
    own_cos, own_sin = (table.squeeze(heads_dim)[..., :half].reshape(-1, half).float() for table in (cos, sin))
    places = torch.arange(own_cos.shape[0], dtype=torch.int32, device=x.device)
    places = places if own_cos.shape[0] == rows.shape[0] * rows.shape[1] else places.repeat(rows.shape[0])
    y = ops.rope(rows, own_cos, own_sin, places)
    return y.transpose(1, 2) if heads_dim == 1 else y


def call_attention(q: Tensor, k: Tensor, v: Tensor, *, scale: float, causal: bool = False) -> Tensor:
    """[B, H, L, DV] of q [B, H, L, D], k [B, HK, S, D] and v [B, HK, S, DV]."""
    batch, heads, queries, _ = q.shape
    keys = k.shape[2]
    rows = (part.transpose(1, 2).reshape(-1, part.shape[1], part.shape[3]) for part in (q, k, v))
    starts = [
        torch.arange(0, (batch + 1) * size, size, dtype=torch.int32, device=q.device)
        if size
        else torch.zeros(batch + 1, dtype=torch.int32, device=q.device)
        for size in (queries, keys)
    ]
    out, _ = ops.attention_prefill(*rows, *starts, scale=scale, max_seqlen_q=queries, max_seqlen_k=keys, causal=causal)
    return out.view(batch, queries, heads, v.shape[3]).transpose(1, 2)
