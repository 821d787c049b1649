"""fused_moe → torch.ops.rockiln, by name. Made by rockiln_torch.generate of the specs."""

# fmt: off
from __future__ import annotations

from torch import Tensor, ops

__all__ = ["fused_moe"]


def fused_moe(
    x: Tensor,
    gate_up: Tensor,
    down: Tensor,
    weights: Tensor,
    ids: Tensor,
    gate_up_bias: Tensor | None = None,
    down_bias: Tensor | None = None,
    *,
    interleaved: bool = False,
    alpha: float = 1.0,
    limit: float = 0.0,
    up_offset: float = 0.0,
    out: Tensor | None = None,
) -> Tensor:
    """out = sum over a token's choices of weight * (h down^T + down_bias), with h = g * sigmoid(alpha g) * (u +
    up_offset) of x gate_up^T + gate_up_bias, whose last dim holds g, then u, or with interleaved g and u in turn;
    limit > 0 cuts g from above and u from both sides (gpt-oss: interleaved, alpha 1.702, limit 7, up_offset 1). An
    id that is no expert's adds nothing. h is rounded to x's type, the sum is of f32 in the order of the choices:
    deterministic.
    In: x T[..., M, K]; gate_up T[E, N2, K]; down T[E, K, N2 // 2]; weights f32[..., M, top]; ids i32[..., M, top];
    gate_up_bias T[E, N2] or None; down_bias T[E, K] or None. Out: out T[..., M, K], contiguous.
    T is f16 or bf16.
    ValueError: gate_up has an odd number of rows, or none; the number of experts is not within 1 and 1024; there
    are more than 2^31 slots.
    Source: Shazeer et al., https://arxiv.org/abs/1701.06538; gpt-oss: https://arxiv.org/abs/2508.10925
    """
    if out is None:
        return ops.rockiln.fused_moe(  # type: ignore[no-any-return]
            x, gate_up, down, weights, ids, gate_up_bias, down_bias, interleaved=interleaved, alpha=alpha, limit=limit,
            up_offset=up_offset,
        )
    ops.rockiln.fused_moe_out(
        x, gate_up, down, weights, ids, gate_up_bias, down_bias, interleaved=interleaved, alpha=alpha, limit=limit,
        up_offset=up_offset, out=out,
    )
    return out
