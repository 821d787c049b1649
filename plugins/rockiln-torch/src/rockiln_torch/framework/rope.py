"""rope and rope_backward → compositions."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from rockiln_torch.framework.tensors import needs_gradient, widen


def rotate(x: Tensor, cos: Tensor, sin: Tensor, *, interleaved: bool) -> Tensor:
    """x [..., H, D] by cos and sin [..., 1, R]: pairs (a, b) become (a cos - b sin, b cos + a sin)."""
    pairs = cos.shape[-1]
    first = slice(0, 2 * pairs, 2) if interleaved else slice(0, pairs)
    second = slice(1, 2 * pairs, 2) if interleaved else slice(pairs, 2 * pairs)
    a, b = widen(x[..., first]), widen(x[..., second])
    c, s = (cos, sin) if a.dtype == cos.dtype else (cos.to(a.dtype), sin.to(a.dtype))
    new_a, new_b = a * c - b * s, b * c + a * s
    if not needs_gradient(x, cos, sin):
        y = torch.empty_like(x, memory_format=torch.contiguous_format)
        y[..., first], y[..., second] = new_a, new_b
        if x.shape[-1] > 2 * pairs:
            y[..., 2 * pairs :] = x[..., 2 * pairs :]
        return y
    turned = torch.stack((new_a, new_b), dim=-1).flatten(-2) if interleaved else torch.cat((new_a, new_b), dim=-1)
    return torch.cat((turned.to(x.dtype), x[..., 2 * pairs :]), dim=-1)


def rope(x: Tensor, cos: Tensor, sin: Tensor, positions: Tensor, *, interleaved: bool = False) -> tuple[Tensor]:
    """y like x [..., L, H, D]; cos and sin [P, R], positions [L] (all leading dims of x folded)."""
    lead = x.shape[:-2]
    own_cos, own_sin = (table[positions].view(*lead, 1, table.shape[-1]) for table in (cos, sin))
    return (rotate(x, own_cos, own_sin, interleaved=interleaved),)


def rope_backward(
    dy: Tensor, cos: Tensor, sin: Tensor, positions: Tensor, *, interleaved: bool = False
) -> tuple[Tensor]:
    """dx like dy: the rotation back."""
    return rope(dy, cos, -sin, positions, interleaved=interleaved)


COMPOSITIONS: dict[str, Callable[..., tuple[Tensor, ...]]] = {"rope": rope, "rope_backward": rope_backward}
