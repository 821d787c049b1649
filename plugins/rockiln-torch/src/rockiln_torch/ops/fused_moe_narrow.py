"""fused_moe_fp8 and 1 more → torch.ops.rockiln, by name. Made by rockiln_torch.generate of the specs."""

# fmt: off
from __future__ import annotations

from torch import Tensor, ops

__all__ = ["fused_moe_fp8", "fused_moe_mxfp4"]


def fused_moe_fp8(
    x: Tensor,
    gate_up: Tensor,
    gate_up_scale: Tensor,
    down: Tensor,
    down_scale: Tensor,
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
    """fused_moe with fp8 weights, one scale for a block of 128 x 128. out = sum over a token's choices of weight * (h
    down^T + down_bias), with h = g * sigmoid(alpha g) * (u + up_offset) of x gate_up^T + gate_up_bias, whose last
    dim holds g, then u, or with interleaved g and u in turn; limit > 0 cuts g from above and u from both sides
    (gpt-oss: interleaved, alpha 1.702, limit 7, up_offset 1). An id that is no expert's adds nothing. h is rounded
    to x's type, the sum is of f32 in the order of the choices: deterministic.
    In: x T[..., M, K]; gate_up Q[E, N2, K]; gate_up_scale f32[E, cdiv(N2, 128), cdiv(K, 128)]; down Q[E, K, N2 //
    2]; down_scale f32[E, cdiv(K, 128), cdiv(N2 // 2, 128)]; weights f32[..., M, top]; ids i32[..., M, top];
    gate_up_bias T[E, N2] or None; down_bias T[E, K] or None. Out: out T[..., M, K], contiguous.
    T is bf16; Q is e4m3 or e4m3fnuz.
    ValueError: gate_up has an odd number of rows, or none; the number of experts is not within 1 and 1024; there
    are more than 2^31 slots.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.fused_moe_fp8(  # type: ignore[no-any-return]
            x, gate_up, gate_up_scale, down, down_scale, weights, ids, gate_up_bias, down_bias, interleaved=interleaved,
            alpha=alpha, limit=limit, up_offset=up_offset,
        )
    ops.rockiln.fused_moe_fp8_out(
        x, gate_up, gate_up_scale, down, down_scale, weights, ids, gate_up_bias, down_bias, interleaved=interleaved,
        alpha=alpha, limit=limit, up_offset=up_offset, out=out,
    )
    return out


def fused_moe_mxfp4(
    x: Tensor,
    gate_up: Tensor,
    gate_up_scale: Tensor,
    down: Tensor,
    down_scale: Tensor,
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
    """fused_moe with MXFP4 weights (see quant_mxfp4). out = sum over a token's choices of weight * (h down^T +
    down_bias), with h = g * sigmoid(alpha g) * (u + up_offset) of x gate_up^T + gate_up_bias, whose last dim holds
    g, then u, or with interleaved g and u in turn; limit > 0 cuts g from above and u from both sides (gpt-oss:
    interleaved, alpha 1.702, limit 7, up_offset 1). An id that is no expert's adds nothing. h is rounded to x's
    type, the sum is of f32 in the order of the choices: deterministic.
    In: x T[..., M, K]; gate_up u8[E, N2, K // 2]; gate_up_scale u8[E, N2, K // 32]; down u8[E, K, N2 // 4];
    down_scale u8[E, K, N2 // 64]; weights f32[..., M, top]; ids i32[..., M, top]; gate_up_bias T[E, N2] or None;
    down_bias T[E, K] or None. Out: out T[..., M, K], contiguous.
    T is bf16.
    ValueError: gate_up has an odd number of rows, or none; the number of experts is not within 1 and 1024; there
    are more than 2^31 slots; the width of x or of h is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.fused_moe_mxfp4(  # type: ignore[no-any-return]
            x, gate_up, gate_up_scale, down, down_scale, weights, ids, gate_up_bias, down_bias, interleaved=interleaved,
            alpha=alpha, limit=limit, up_offset=up_offset,
        )
    ops.rockiln.fused_moe_mxfp4_out(
        x, gate_up, gate_up_scale, down, down_scale, weights, ids, gate_up_bias, down_bias, interleaved=interleaved,
        alpha=alpha, limit=limit, up_offset=up_offset, out=out,
    )
    return out
