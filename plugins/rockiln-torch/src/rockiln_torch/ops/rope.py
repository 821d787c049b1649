"""rope and 1 more → torch.ops.rockiln, by name. Made by rockiln_torch.generate of the specs."""

# fmt: off
from __future__ import annotations

from torch import Tensor, ops

__all__ = ["rope", "rope_backward"]


def rope(
    x: Tensor, cos: Tensor, sin: Tensor, positions: Tensor, *, interleaved: bool = False, out: Tensor | None = None
) -> Tensor:
    """Pairs (a, b) of each head become (a cos - b sin, b cos + a sin) by row positions[l] of cos and sin [P, R]; pairs
    are x[i], x[i + R] (NeoX), or with interleaved x[2i], x[2i + 1] (GPT-J); dims from 2R on are copied. A position
    outside 0 to P - 1 is undefined.
    In: x T[..., L, H, D]; cos f32[P, R]; sin f32[P, R]; positions i32[L]. Out: y T[..., L, H, D], contiguous.
    T is f32 or f16 or bf16.
    ValueError: cos and sin have more columns than half of x's last dim.
    Differentiable, by rope_backward.
    Source: Su et al., RoFormer, https://arxiv.org/abs/2104.09864
    """
    if out is None:
        return ops.rockiln.rope(x, cos, sin, positions, interleaved=interleaved)  # type: ignore[no-any-return]
    ops.rockiln.rope_out(x, cos, sin, positions, interleaved=interleaved, y=out)
    return out


def rope_backward(
    dy: Tensor, cos: Tensor, sin: Tensor, positions: Tensor, *, interleaved: bool = False, out: Tensor | None = None
) -> Tensor:
    """The gradient of rope with respect to x: the rotation back.
    In: dy T[..., L, H, D]; cos f32[P, R]; sin f32[P, R]; positions i32[L]. Out: dx T[..., L, H, D], contiguous.
    T is f32 or f16 or bf16.
    ValueError: cos and sin have more columns than half of x's last dim.
    """
    if out is None:
        return ops.rockiln.rope_backward(  # type: ignore[no-any-return]
            dy, cos, sin, positions, interleaved=interleaved
        )
    ops.rockiln.rope_backward_out(dy, cos, sin, positions, interleaved=interleaved, dx=out)
    return out
