"""topk_sigmoid and 1 more → torch.ops.rockiln, by name. Made by rockiln_torch.generate of the specs."""

# fmt: off
from __future__ import annotations

from torch import Tensor, ops

__all__ = ["topk_sigmoid", "topk_softmax"]


def topk_sigmoid(
    logits: Tensor,
    bias: Tensor | None = None,
    *,
    top: int,
    renormalise: bool = True,
    scaling: float = 1.0,
    groups: int = 1,
    keep: int = 1,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """ids = the top experts by sigmoid(logits) + bias, weights = their sigmoid(logits). With groups > 1 the experts
    are that many equal groups, and only the keep groups count whose two best choices have the largest sum. The
    choices come in order, the largest first, and of equals the lower expert; NaN counts as the smallest. With
    renormalise the weights are divided by their sum; then they are multiplied by scaling. Deterministic.
    In: logits T[..., M, E]; bias f32[E] or None. Out: weights f32[..., M, top]; ids i32[..., M, top], contiguous.
    T is f32 or f16 or bf16.
    ValueError: top is not within 1 and the number of experts; there are more than 32 choices or 1024 experts; the
    experts are not at most 32 groups of equal size; keep is not within 1 and groups; the kept groups have fewer
    than top experts.
    Source: DeepSeek-V3 Technical Report, https://arxiv.org/abs/2412.19437
    """
    if out is None:
        return ops.rockiln.topk_sigmoid(  # type: ignore[no-any-return]
            logits, bias, top=top, renormalise=renormalise, scaling=scaling, groups=groups, keep=keep
        )
    ops.rockiln.topk_sigmoid_out(
        logits, bias, top=top, renormalise=renormalise, scaling=scaling, groups=groups, keep=keep, weights=out[0],
        ids=out[1],
    )
    return out


def topk_softmax(
    logits: Tensor,
    *,
    top: int,
    renormalise: bool = True,
    scaling: float = 1.0,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """ids = the top experts by logits, weights = their softmax over all experts. The choices come in order, the
    largest first, and of equals the lower expert; NaN counts as the smallest. With renormalise the weights are
    divided by their sum; then they are multiplied by scaling. Deterministic.
    In: logits T[..., M, E]. Out: weights f32[..., M, top]; ids i32[..., M, top], contiguous.
    T is f32 or f16 or bf16.
    ValueError: top is not within 1 and the number of experts; there are more than 32 choices or 1024 experts.
    """
    if out is None:
        return ops.rockiln.topk_softmax(  # type: ignore[no-any-return]
            logits, top=top, renormalise=renormalise, scaling=scaling
        )
    ops.rockiln.topk_softmax_out(logits, top=top, renormalise=renormalise, scaling=scaling, weights=out[0], ids=out[1])
    return out
