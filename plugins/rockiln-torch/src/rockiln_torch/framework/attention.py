"""q, k, v of packed sequences → softmax attention and its gradient: attention_prefill and attention_prefill_backward.

On a CPU torch's flash attention does what it does exactly: in f32 (of bf16 its log-sum-exp is 6e-5 off, and it is no
faster), finite numbers (NaN gives 0 there), one width of heads, no sink under autograd. A sink, and rows that see
nothing, are made right from its log-sum-exp. All else is two products, for a block of queries at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import torch
from torch import Tensor

from rockiln_torch.framework.tensors import has_tangent, is_finite, join, needs_gradient, read_numbers, widen
from rockiln_torch.framework.tiled_attention import attend_by_tiles, takes_tiles

SCORES = 1 << 24
"""How many scores one block of queries may have, over all heads: 64 MB of f32."""
LEAST_SCALE = torch.finfo(torch.float32).tiny
"""Of what torch's flash attention masks itself: it writes -inf before it multiplies by the scale, in f32."""


def list_sequences(q: Tensor, k: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor) -> Iterator[tuple[slice, slice]]:
    """Queries and keys of each sequence. Copies two small arrays from a GPU; ValueError as below."""
    starts = _read_starts("q", cu_seqlens_q, q.shape[0]), _read_starts("k", cu_seqlens_k, k.shape[0])
    for rows, keys in zip(*(pairwise(each) for each in starts), strict=True):
        yield slice(*rows), slice(*keys)


def _read_starts(of: str, cu_seqlens: Tensor, count: int) -> list[int]:
    """Raises ValueError if they decrease, or are no places in the array."""
    starts = read_numbers(cu_seqlens)
    if starts != sorted(starts) or starts[0] < 0 or starts[-1] > count:
        raise ValueError(
            f"rockiln::attention_prefill: cu_seqlens_{of} decreases or leaves the {count} rows of {of}; "
            "hint: it holds where each sequence starts, in order, and the end of the last"
        )
    return starts


def see_keys(
    rows: slice, queries: int, keys: int, *, causal: bool, window_left: int, device: torch.device
) -> Tensor | None:
    """bool [rows, keys] of some queries, None where all are seen; the last query stands at the last key."""
    if not causal and window_left < 0:
        return None
    places = torch.arange(rows.start, rows.stop, device=device).unsqueeze(1) + (keys - queries)
    distance = torch.arange(keys, device=device).unsqueeze(0) - places
    seen = distance <= 0 if causal else torch.ones_like(distance, dtype=torch.bool)
    return seen & (distance >= -window_left) if window_left >= 0 else seen


def attend(
    q: Tensor, k: Tensor, v: Tensor, scale: float, sinks: Tensor | None, *, causal: bool, window_left: int = -1
) -> tuple[Tensor, Tensor]:
    """out [H, L, DV], in the dtype of q or wider, and lse [H, L]; q [H, L, D], k [HK, S, D], v [HK, S, DV]."""
    heads, queries, keys = q.shape[0], q.shape[1], k.shape[1]
    if not heads or not queries or not keys:  # torch's flash attention divides by the number of heads
        return _see_nothing(q, v, sinks)
    if queries == 1 and 0 <= window_left < keys - 1:
        k, v, window_left = k[:, keys - 1 - window_left :], v[:, keys - 1 - window_left :], -1
    if queries == 1 or window_left >= keys - 1:
        causal, window_left = causal and queries > 1, -1
    if _takes_flash(q, k, v, sinks):
        tiled = None
        if takes_tiles(q, k, v, sinks):
            tiled = attend_by_tiles(q, k, v, scale, sinks, causal=causal, window_left=window_left)
        return tiled or _attend_flash(q, k, v, scale, sinks, causal=causal, window_left=window_left)
    step = max(1, SCORES // max(1, q.shape[0] * keys))
    parts = [
        _attend_block(
            q[:, start : start + step], k, v, scale, sinks, _see_block(start, step, q, k, causal, window_left)
        )
        for start in range(0, queries, step)
    ]
    return join([out for out, _ in parts], dim=1), join([lse for _, lse in parts], dim=1)


def _see_block(start: int, step: int, q: Tensor, k: Tensor, causal: bool, window_left: int) -> Tensor | None:
    rows = slice(start, min(start + step, q.shape[1]))
    return see_keys(rows, q.shape[1], k.shape[1], causal=causal, window_left=window_left, device=q.device)


def _see_nothing(q: Tensor, v: Tensor, sinks: Tensor | None) -> tuple[Tensor, Tensor]:
    out = q.new_zeros(*q.shape[:2], v.shape[2])
    lse = widen(q).new_full(q.shape[:2], -torch.inf)
    return out, lse if sinks is None else torch.maximum(lse, sinks.to(lse.dtype).unsqueeze(1))


def _takes_flash(q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None) -> bool:
    is_followed = (sinks is not None and needs_gradient(q, k, v, sinks)) or has_tangent(q, k, v)
    if q.shape[1] == 1 or q.device.type != "cpu" or not q.shape[2] == k.shape[2] == v.shape[2] > 0 or is_followed:
        return False
    return is_finite(q, k, v)


def _attend_flash(
    q: Tensor, k: Tensor, v: Tensor, scale: float, sinks: Tensor | None, *, causal: bool, window_left: int
) -> tuple[Tensor, Tensor]:
    queries, keys = q.shape[1], k.shape[1]
    is_plain = causal and queries == keys and window_left < 0 and scale >= LEAST_SCALE
    seen = (
        None
        if is_plain
        else see_keys(slice(0, queries), queries, keys, causal=causal, window_left=window_left, device=q.device)
    )
    mask = None if seen is None else torch.zeros(seen.shape, dtype=widen(q).dtype).masked_fill_(~seen, -torch.inf)
    shape = (k.shape[0], q.shape[0] // k.shape[0])  # groups, and heads of one
    q, k, v = (part if part.stride(2) == 1 else part.contiguous() for part in (widen(q), widen(k), widen(v)))
    k, v = (part.unsqueeze(1).expand(*shape, *part.shape[1:]) for part in (k, v))
    out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(  # noqa: SLF001  # gives the log-sum-exp
        q.view(*shape, *q.shape[1:]), k, v, 0.0, is_plain, attn_mask=mask, scale=scale
    )
    out, lse = out.flatten(0, 1), lse.flatten(0, 1)
    if seen is not None:
        blind = ~seen.any(dim=1)
        out, lse = out.masked_fill(blind[None, :, None], 0.0), lse.masked_fill(blind[None], -torch.inf)
    if sinks is None:
        return out, lse
    own = sinks.to(lse.dtype).unsqueeze(1)
    return out * torch.sigmoid(lse - own).unsqueeze(2), torch.logaddexp(lse, own)


def _attend_block(
    q: Tensor, k: Tensor, v: Tensor, scale: float, sinks: Tensor | None, seen: Tensor | None
) -> tuple[Tensor, Tensor]:
    heads, queries, _ = q.shape
    rows = heads * queries // k.shape[0]
    grouped = widen(q).reshape(k.shape[0], rows, q.shape[2])  # heads of one group as more queries of its keys
    scores = (grouped @ widen(k).transpose(1, 2)).view(heads, queries, k.shape[1]) * scale
    if seen is not None:
        scores = scores.masked_fill(~seen, -torch.inf)
    lse = torch.logsumexp(scores, dim=2)
    lse = lse.masked_fill(lse == torch.inf, torch.nan)  # a score of infinity leaves nothing to weigh by
    lse = lse if sinks is None else torch.logaddexp(lse, sinks.to(lse.dtype).unsqueeze(1))
    shift = lse.masked_fill(lse == -torch.inf, 0.0)
    weights = torch.exp(scores - shift.unsqueeze(2))
    out = weights.view(k.shape[0], rows, k.shape[1]) @ widen(v)
    return out.view(heads, queries, v.shape[2]).to(q.dtype), lse


def attention_prefill(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    sinks: Tensor | None = None,
    *,
    scale: float,
    max_seqlen_q: int,  # noqa: ARG001  # of the kernel
    max_seqlen_k: int = 0,  # noqa: ARG001
    causal: bool = True,
    window_left: int = -1,
) -> tuple[Tensor, Tensor]:
    """out [TQ, HQ, DV] like q [TQ, HQ, D], lse [HQ, TQ]; k [TK, HK, D], v [TK, HK, DV]."""
    parts, end = [], 0
    for rows, keys in list_sequences(q, k, cu_seqlens_q, cu_seqlens_k):
        if rows.start > end:  # rows of no sequence
            parts.append(_see_nothing(q[end : rows.start].transpose(0, 1), v, None))
        own_q, own_k, own_v = (part.transpose(0, 1) for part in (q[rows], k[keys], v[keys]))
        parts.append(attend(own_q, own_k, own_v, scale, sinks, causal=causal, window_left=window_left))
        end = rows.stop
    if end < q.shape[0]:
        parts.append(_see_nothing(q[end:].transpose(0, 1), v, None))
    outs, lses = [out.to(q.dtype).transpose(0, 1) for out, _ in parts], [lse for _, lse in parts]
    return join(outs, 0).contiguous(), join(lses, 1).contiguous()


def attention_prefill_backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    dout: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    *,
    scale: float,
    max_seqlen_q: int,  # noqa: ARG001  # of the kernel
    max_seqlen_k: int = 0,  # noqa: ARG001
    causal: bool = True,
    window_left: int = -1,
) -> tuple[Tensor, Tensor, Tensor]:
    """dq, dk, dv, like q, k, v."""
    wide = [torch.zeros_like(widen(part), memory_format=torch.contiguous_format) for part in (q, k, v)]
    for rows, keys in list_sequences(q, k, cu_seqlens_q, cu_seqlens_k):
        own = [part.transpose(0, 1) for part in (q[rows], k[keys], v[keys], out[rows], dout[rows])]
        if 0 in own[0].shape[:2] or not own[1].shape[1]:  # no heads, queries or keys; heads of width 0 have a dv
            continue
        step = max(1, SCORES // max(1, q.shape[1] * own[1].shape[1]))
        for start in range(0, own[0].shape[1], step):
            block = slice(start, min(start + step, own[0].shape[1]))
            seen = _see_block(start, step, own[0], own[1], causal, window_left)
            part = [own[0][:, block], own[1], own[2], own[3][:, block], own[4][:, block]]
            grads = _differentiate_block(part, lse[:, rows][:, block], scale, seen)
            wide[0][rows][block] += grads[0].transpose(0, 1)
            wide[1][keys] += grads[1].transpose(0, 1)
            wide[2][keys] += grads[2].transpose(0, 1)
    dq, dk, dv = (grad.to(part.dtype) for grad, part in zip(wide, (q, k, v), strict=True))
    return dq, dk, dv


def _differentiate_block(
    arrays: list[Tensor], lse: Tensor, scale: float, seen: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    q, k, v, out, dout = (widen(array) for array in arrays)
    (heads, queries, _), (groups, keys, _) = q.shape, k.shape
    rows = heads * queries // groups
    grouped_q, grouped_dout = q.reshape(groups, rows, q.shape[2]), dout.reshape(groups, rows, dout.shape[2])
    scores = (grouped_q @ k.transpose(1, 2)).view(heads, queries, keys) * scale
    weights = torch.exp(scores - lse.to(scores.dtype).unsqueeze(2))
    weights = weights if seen is None else weights.masked_fill(~seen, 0.0)
    delta = (out * dout).sum(dim=2, keepdim=True)
    slope = (weights * ((grouped_dout @ v.transpose(1, 2)).view(heads, queries, keys) - delta) * scale).view(
        groups, rows, keys
    )
    dq = (slope @ k).view(heads, queries, q.shape[2])
    return dq, slope.transpose(1, 2) @ grouped_q, weights.view(groups, rows, keys).transpose(1, 2) @ grouped_dout


COMPOSITIONS: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    "attention_prefill": attention_prefill,
    "attention_prefill_backward": attention_prefill_backward,
}
