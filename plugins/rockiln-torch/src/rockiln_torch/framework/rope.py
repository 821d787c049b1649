"""rope and rope_backward → compositions."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from rockiln_torch.framework.tensors import cut_rows, is_worth_cutting, needs_gradient, widen


def turn(x: Tensor, cos: Tensor, sin: Tensor, y: Tensor, *, interleaved: bool) -> None:
    """As rotate, into y, which has the dtype of x, cos and sin."""
    pairs = cos.shape[-1]
    first = slice(0, 2 * pairs, 2) if interleaved else slice(0, pairs)
    second = slice(1, 2 * pairs, 2) if interleaved else slice(pairs, 2 * pairs)
    a, b = x[..., first], x[..., second]
    torch.mul(a, cos, out=y[..., first]).addcmul_(b, sin, value=-1.0)
    torch.mul(b, cos, out=y[..., second]).addcmul_(a, sin)
    if x.shape[-1] > 2 * pairs:
        y[..., 2 * pairs :] = x[..., 2 * pairs :]


def rotate(x: Tensor, cos: Tensor, sin: Tensor, *, interleaved: bool) -> Tensor:
    """x [..., H, D] by cos and sin [..., 1, R]: pairs (a, b) become (a cos - b sin, b cos + a sin)."""
    pairs = cos.shape[-1]
    first = slice(0, 2 * pairs, 2) if interleaved else slice(0, pairs)
    second = slice(1, 2 * pairs, 2) if interleaved else slice(pairs, 2 * pairs)
    a, b = widen(x[..., first]), widen(x[..., second])
    c, s = (cos, sin) if a.dtype == cos.dtype else (cos.to(a.dtype), sin.to(a.dtype))
    new_a, new_b = a * c - b * s, b * c + a * s
    turned = torch.stack((new_a, new_b), dim=-1).flatten(-2) if interleaved else torch.cat((new_a, new_b), dim=-1)
    return torch.cat((turned.to(x.dtype), x[..., 2 * pairs :]), dim=-1)


def rope(x: Tensor, cos: Tensor, sin: Tensor, positions: Tensor, *, interleaved: bool = False) -> tuple[Tensor]:
    """y like x [..., L, H, D]; cos and sin [P, R], positions [L] (all leading dims of x folded)."""
    if not cos.shape[0] and positions.numel():
        raise ValueError(f"rockiln: rope: cos and sin have no row, but there are {positions.numel()} positions")
    own_cos, own_sin = (table[positions].unsqueeze(1) for table in (cos, sin))
    flat = x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])
    if needs_gradient(x, cos, sin):
        return (rotate(flat, own_cos, own_sin, interleaved=interleaved).view(x.shape),)
    y = torch.empty_like(flat, memory_format=torch.contiguous_format)
    if x.dtype == own_cos.dtype:
        turn(flat, own_cos, own_sin, y, interleaved=interleaved)
        return (y.view(x.shape),)
    count = flat.shape[0]
    cuts = cut_rows(count, flat[0].numel()) if count and is_worth_cutting(x) else (slice(0, count),)
    for rows in cuts:
        wide = widen(flat[rows])
        part = torch.empty_like(wide)
        turn(wide, own_cos[rows].to(wide.dtype), own_sin[rows].to(wide.dtype), part, interleaved=interleaved)
        y[rows].copy_(part)
    return (y.view(x.shape),)


def rope_backward(
    dy: Tensor, cos: Tensor, sin: Tensor, positions: Tensor, *, interleaved: bool = False
) -> tuple[Tensor]:
    """dx like dy: the rotation back."""
    return rope(dy, cos, -sin, positions, interleaved=interleaved)


COMPOSITIONS: dict[str, Callable[..., tuple[Tensor, ...]]] = {"rope": rope, "rope_backward": rope_backward}
