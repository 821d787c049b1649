"""swiglu_and_mul and 3 more → torch.ops.rockiln, by name. Made by rockiln_torch.generate of the specs."""

# fmt: off
from __future__ import annotations

import torch
from torch import Tensor, ops

__all__ = ["swiglu_and_mul", "swiglu_and_mul_backward", "swiglu_and_mul_fp8", "swiglu_and_mul_mxfp4"]


def swiglu_and_mul(
    x: Tensor,
    *,
    limit: float = 7.0,
    alpha: float = 1.702,
    up_offset: float = 1.0,
    interleaved: bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """y = g * sigmoid(alpha * g) * (u + up_offset); x holds g, then u, along its last dim, or with interleaved g and u
    in turn; limit > 0 cuts g from above and u from both sides.
    In: x T[..., M, D2]. Out: y T[..., M, D2 // 2], contiguous.
    T is f32 or f16 or bf16.
    ValueError: the last dim of x is odd, so it does not hold gate and up.
    Differentiable, by swiglu_and_mul_backward.
    Source: https://github.com/openai/gpt-oss, gpt_oss/torch/model.py, swiglu
    """
    if out is None:
        return ops.rockiln.swiglu_and_mul(  # type: ignore[no-any-return]
            x, limit=limit, alpha=alpha, up_offset=up_offset, interleaved=interleaved
        )
    ops.rockiln.swiglu_and_mul_out(x, limit=limit, alpha=alpha, up_offset=up_offset, interleaved=interleaved, y=out)
    return out


def swiglu_and_mul_backward(
    dy: Tensor,
    x: Tensor,
    *,
    limit: float = 7.0,
    alpha: float = 1.702,
    up_offset: float = 1.0,
    interleaved: bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """The gradient of y = g * sigmoid(alpha * g) * (u + up_offset): dx, 0 where limit cuts.
    In: dy T[..., M, D2 // 2]; x T[..., M, D2]. Out: dx T[..., M, D2], contiguous.
    T is f32 or f16 or bf16.
    ValueError: the last dim of x is odd, so it does not hold gate and up.
    """
    if out is None:
        return ops.rockiln.swiglu_and_mul_backward(  # type: ignore[no-any-return]
            dy, x, limit=limit, alpha=alpha, up_offset=up_offset, interleaved=interleaved
        )
    ops.rockiln.swiglu_and_mul_backward_out(
        dy, x, limit=limit, alpha=alpha, up_offset=up_offset, interleaved=interleaved, dx=out
    )
    return out


def swiglu_and_mul_fp8(
    x: Tensor,
    *,
    limit: float = 7.0,
    alpha: float = 1.702,
    up_offset: float = 1.0,
    interleaved: bool = True,
    out_dtype: torch.dtype,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """q = g * sigmoid(alpha * g) * (u + up_offset) in fp8, with q_scale = max|.| / largest fp8 of 128 values; x holds
    g, then u, along its last dim, or with interleaved g and u in turn; limit > 0 cuts g from above and u from both
    sides.
    In: x T[..., M, D2]. Out: q Q[..., M, D2 // 2]; q_scale f32[..., M, cdiv(D2 // 2, 128)], contiguous.
    T is f32 or f16 or bf16; Q (out_dtype) is e4m3 or e4m3fnuz.
    ValueError: the last dim of x is odd, so it does not hold gate and up.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.swiglu_and_mul_fp8(  # type: ignore[no-any-return]
            x, limit=limit, alpha=alpha, up_offset=up_offset, interleaved=interleaved, out_dtype=out_dtype
        )
    ops.rockiln.swiglu_and_mul_fp8_out(
        x, limit=limit, alpha=alpha, up_offset=up_offset, interleaved=interleaved, out_dtype=out_dtype, q=out[0],
        q_scale=out[1],
    )
    return out


def swiglu_and_mul_mxfp4(
    x: Tensor,
    *,
    limit: float = 7.0,
    alpha: float = 1.702,
    up_offset: float = 1.0,
    interleaved: bool = True,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """q = g * sigmoid(alpha * g) * (u + up_offset) in MXFP4 (see quant_mxfp4); x holds g, then u, along its last dim,
    or with interleaved g and u in turn; limit > 0 cuts g from above and u from both sides.
    In: x T[..., M, D2]. Out: q u8[..., M, D2 // 4]; q_scale u8[..., M, D2 // 64], contiguous.
    T is f32 or f16 or bf16.
    ValueError: half of x's last dim is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.swiglu_and_mul_mxfp4(  # type: ignore[no-any-return]
            x, limit=limit, alpha=alpha, up_offset=up_offset, interleaved=interleaved
        )
    ops.rockiln.swiglu_and_mul_mxfp4_out(
        x, limit=limit, alpha=alpha, up_offset=up_offset, interleaved=interleaved, q=out[0], q_scale=out[1]
    )
    return out
