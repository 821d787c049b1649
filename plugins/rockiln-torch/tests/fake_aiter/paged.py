"""AITER's attention and rotary embeddings, in plain torch. See references.py."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor


def _attend(q: Tensor, k: Tensor, v: Tensor, scale: float, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """q [L, H, D], k [S, HK, D], v [S, HK, DV] → [L, H, DV], [H, L]."""
    repeats = q.shape[1] // k.shape[1]
    keys, values = (part.float().repeat_interleave(repeats, 1) for part in (k, v))
    scores = torch.einsum("lhd,shd->hls", q.float(), keys) * scale
    scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    return torch.einsum("hls,shd->lhd", scores.softmax(-1), values), scores.logsumexp(-1)


def _mask(v: SimpleNamespace, queries: int, keys: int) -> Tensor:
    places = torch.arange(queries)[:, None] + keys - queries
    distance = torch.arange(keys) - places
    left, right = v.window_size[:2]
    seen = distance <= (0 if v.causal else right) if v.causal or right >= 0 else torch.ones_like(distance).bool()
    return seen & (distance >= -left) if left >= 0 else seen


def _varlen(v: SimpleNamespace) -> Any:
    outs, lses = [], []
    scale = v.q.shape[-1] ** -0.5 if v.softmax_scale is None else v.softmax_scale
    starts = zip(pairwise(v.cu_seqlens_q.tolist()), pairwise(v.cu_seqlens_k.tolist()), strict=True)
    for rows, keys in starts:
        q, k, w = v.q[slice(*rows)], v.k[slice(*keys)], v.v[slice(*keys)]
        out, lse = _attend(q, k, w, scale, _mask(v, q.shape[0], k.shape[0]))
        outs.append(out)
        lses.append(lse)
    result = torch.cat(outs).to(v.q.dtype)
    result = result if v.out is None else v.out.copy_(result)
    return (result, torch.cat(lses, 1)) if v.return_lse else result


def _dense(v: SimpleNamespace) -> Any:
    scale = v.q.shape[-1] ** -0.5 if v.softmax_scale is None else v.softmax_scale
    parts = [_attend(q, k, w, scale, _mask(v, q.shape[0], k.shape[0])) for q, k, w in zip(v.q, v.k, v.v, strict=True)]
    out = torch.stack([out for out, _ in parts]).to(v.q.dtype)
    return (out, torch.stack([lse for _, lse in parts])) if v.return_lse else out


def _paged_v1(v: SimpleNamespace) -> Tensor:
    keys, values = (
        cache if v.kv_cache_layout == "NHD" else cache.transpose(1, 2) for cache in (v.key_cache, v.value_cache)
    )
    for number, length in enumerate(v.context_lens.tolist()):
        pages = v.block_tables[number].long()
        own = [cache.float()[pages].flatten(0, 1)[:length] for cache in (keys, values)]  # old torch picks no fp8
        wide = [part * scale for part, scale in zip(own, (v.k_scale, v.v_scale), strict=True)]
        v.out[number] = _attend(v.query[number : number + 1], *wide, v.scale)[0][0]
    return v.out


def _paged_ragged(v: SimpleNamespace) -> Tensor:
    bounds = v.kv_indptr.tolist()
    for number, (start, stop) in enumerate(pairwise(bounds)):
        pages = v.kv_page_indices[start:stop].long()
        length = (stop - start - 1) * v.block_size + int(v.kv_last_page_lens[number])
        own = [cache[pages].flatten(0, 1)[:length] for cache in (v.key_cache, v.value_cache)]
        v.out[number] = _attend(v.query[number : number + 1], *own, v.scale)[0][0]
    return v.out


def _mla(v: SimpleNamespace) -> tuple[Tensor | None, Tensor | None]:
    cache = v.kv_buffer.flatten(0, 1)
    lse = torch.empty(v.q.shape[:2], dtype=torch.float32)
    bounds = zip(pairwise(v.qo_indptr.tolist()), pairwise(v.kv_indptr.tolist()), strict=True)
    for number, (rows, keys) in enumerate(bounds):
        pages = v.kv_buffer[v.kv_indices[slice(*keys)].long()].flatten(0, 1)
        size = getattr(v, "page_size", 1)
        own = pages[: (keys[1] - keys[0] - 1) * size + int(v.kv_last_page_lens[number])]
        queries = v.q[slice(*rows)]
        mask = torch.arange(own.shape[0]) <= torch.arange(len(queries))[:, None] + own.shape[0] - len(queries)
        out, part = _attend(queries, own, own[..., :512], v.sm_scale or cache.shape[-1] ** -0.5, mask)
        v.o[slice(*rows)] = out.to(v.o.dtype)
        lse[slice(*rows)] = part.t()
    return None, lse if getattr(v, "return_lse", False) else None


def _turn(x: Tensor, cos: Tensor, sin: Tensor, rows: Tensor, style: int) -> Tensor:
    """x [S, B, H, D], cos and sin [P, ..., R], rows [S, B]."""
    c, s = (table.flatten(1).float()[rows.long()].unsqueeze(2) for table in (cos, sin))
    size, wide = c.shape[-1], x.float()
    a, b = (wide[..., :size], wide[..., size : 2 * size]) if style == 0 else (wide[..., 0 : 2 * size : 2],
                                                                             wide[..., 1 : 2 * size : 2])  # fmt: skip
    turned = (a * c - b * s, b * c + a * s)
    front = torch.cat(turned, -1) if style == 0 else torch.stack(turned, -1).flatten(-2)
    return torch.cat((front, wide[..., 2 * size :]), -1).to(x.dtype)


def _rope(v: SimpleNamespace, x: Tensor) -> Tensor:
    rows = getattr(v, "positions", None)
    rows = torch.arange(x.shape[0])[:, None].expand(x.shape[:2]) if rows is None else rows
    rows = rows + v.offsets if hasattr(v, "offsets") else rows
    out = _turn(x, v.cos, v.sin, rows, v.rotate_style)
    return out.transpose(0, 1).contiguous().transpose(0, 1) if getattr(v, "transpose_output", False) else out


def _rope_two(v: SimpleNamespace) -> tuple[Tensor, Tensor]:
    return _rope(v, v.input_x), _rope(v, v.input_y)


def _rope_in_place(v: SimpleNamespace) -> None:
    for x in (v.input,) if hasattr(v, "input") else (v.input_x, v.input_y):
        x.copy_(_rope(v, x))


def _rotary(v: SimpleNamespace) -> None:
    for x in (v.query, v.key):
        heads = x.view(x.shape[0], 1, -1, v.head_size)
        x.copy_(_turn(heads, v.cos_cache, v.sin_cache, v.positions[:, None], int(not v.is_neox)).view(x.shape))


REFERENCES: dict[str, Callable[[SimpleNamespace], Any]] = {
    "flash_attn_func": _dense,
    "flash_attn_varlen_func": _varlen,
    "paged_attention_v1": _paged_v1,
    "paged_attention_ragged": _paged_ragged,
    "mla_decode_fwd": _mla,
    "rope_cached_fwd": lambda v: _rope(v, v.input),
    "rope_cached_positions_fwd": lambda v: _rope(v, v.input),
    "rope_cached_positions_2c_fwd": _rope_two,
    "rope_cached_fwd_inplace": _rope_in_place,
    "rope_cached_positions_fwd_inplace": _rope_in_place,
    "rope_cached_positions_2c_fwd_inplace": _rope_in_place,
    "rope_cached_positions_offsets_2c_fwd_inplace": _rope_in_place,
    "rotary_embedding_fwd": _rotary,
}
