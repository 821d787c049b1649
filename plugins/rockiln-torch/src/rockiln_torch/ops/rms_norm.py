"""add_rms_norm and 6 more → torch.ops.rockiln, by name. Made by rockiln_torch.generate of the specs."""

# fmt: off
from __future__ import annotations

import torch
from torch import Tensor, ops

__all__ = [
    "add_rms_norm", "add_rms_norm_fp8", "add_rms_norm_mxfp4", "rms_norm", "rms_norm_backward", "rms_norm_fp8",
    "rms_norm_mxfp4",
]


def add_rms_norm(
    x: Tensor,
    residual: Tensor,
    weight: Tensor,
    *,
    eps: float = 1e-06,
    weight_offset: float = 0.0,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """residual_out = x + residual; of that sum, rounded to its type, y = x / sqrt(mean(x^2) + eps) * (weight +
    weight_offset).
    In: x T[..., M, N]; residual T[..., M, N]; weight T[N]. Out: y T[..., M, N]; residual_out T[..., M, N],
    contiguous.
    T is f32 or f16 or bf16.
    ValueError: a row has no values.
    Source: Zhang and Sennrich, Root Mean Square Layer Normalization, https://arxiv.org/abs/1910.07467
    """
    if out is None:
        return ops.rockiln.add_rms_norm(  # type: ignore[no-any-return]
            x, residual, weight, eps=eps, weight_offset=weight_offset
        )
    ops.rockiln.add_rms_norm_out(
        x, residual, weight, eps=eps, weight_offset=weight_offset, y=out[0], residual_out=out[1]
    )
    return out


def add_rms_norm_fp8(
    x: Tensor,
    residual: Tensor,
    weight: Tensor,
    *,
    eps: float = 1e-06,
    weight_offset: float = 0.0,
    out_dtype: torch.dtype,
    out: tuple[Tensor, Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """residual_out = x + residual; of that sum, rounded to its type, q = x / sqrt(mean(x^2) + eps) * (weight +
    weight_offset), in fp8, q_scale = max|.| / largest fp8 of each row.
    In: x T[..., M, N]; residual T[..., M, N]; weight T[N]. Out: q Q[..., M, N]; q_scale f32[M]; residual_out T[...,
    M, N], contiguous.
    T is f32 or f16 or bf16; Q (out_dtype) is e4m3 or e4m3fnuz.
    ValueError: a row has no values.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.add_rms_norm_fp8(  # type: ignore[no-any-return]
            x, residual, weight, eps=eps, weight_offset=weight_offset, out_dtype=out_dtype
        )
    ops.rockiln.add_rms_norm_fp8_out(
        x, residual, weight, eps=eps, weight_offset=weight_offset, out_dtype=out_dtype, q=out[0], q_scale=out[1],
        residual_out=out[2],
    )
    return out


def add_rms_norm_mxfp4(
    x: Tensor,
    residual: Tensor,
    weight: Tensor,
    *,
    eps: float = 1e-06,
    weight_offset: float = 0.0,
    out: tuple[Tensor, Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """residual_out = x + residual; of that sum, rounded to its type, q = x / sqrt(mean(x^2) + eps) * (weight +
    weight_offset), in MXFP4 (see quant_mxfp4).
    In: x T[..., M, N]; residual T[..., M, N]; weight T[N]. Out: q u8[..., M, N // 2]; q_scale u8[..., M, N // 32];
    residual_out T[..., M, N], contiguous.
    T is f32 or f16 or bf16.
    ValueError: a row has no values; the length of a row is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.add_rms_norm_mxfp4(  # type: ignore[no-any-return]
            x, residual, weight, eps=eps, weight_offset=weight_offset
        )
    ops.rockiln.add_rms_norm_mxfp4_out(
        x, residual, weight, eps=eps, weight_offset=weight_offset, q=out[0], q_scale=out[1], residual_out=out[2]
    )
    return out


def rms_norm(
    x: Tensor, weight: Tensor, *, eps: float = 1e-06, weight_offset: float = 0.0, out: Tensor | None = None
) -> Tensor:
    """y = x / sqrt(mean(x^2) + eps) * (weight + weight_offset) over the last dim; sums in f32.
    In: x T[..., M, N]; weight T[N]. Out: y T[..., M, N], contiguous.
    T is f32 or f16 or bf16.
    ValueError: a row has no values.
    Differentiable, by rms_norm_backward.
    Source: Zhang and Sennrich, Root Mean Square Layer Normalization, https://arxiv.org/abs/1910.07467
    """
    if out is None:
        return ops.rockiln.rms_norm(x, weight, eps=eps, weight_offset=weight_offset)  # type: ignore[no-any-return]
    ops.rockiln.rms_norm_out(x, weight, eps=eps, weight_offset=weight_offset, y=out)
    return out


def rms_norm_backward(
    dy: Tensor,
    x: Tensor,
    weight: Tensor,
    *,
    eps: float = 1e-06,
    weight_offset: float = 0.0,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """The gradient of rms_norm: dx of each row, and dweight summed over rows in a fixed order.
    In: dy T[..., M, N]; x T[..., M, N]; weight T[N]. Out: dx T[..., M, N]; dweight T[N], contiguous.
    T is f32 or f16 or bf16.
    ValueError: a row has no values.
    """
    if out is None:
        return ops.rockiln.rms_norm_backward(  # type: ignore[no-any-return]
            dy, x, weight, eps=eps, weight_offset=weight_offset
        )
    ops.rockiln.rms_norm_backward_out(dy, x, weight, eps=eps, weight_offset=weight_offset, dx=out[0], dweight=out[1])
    return out


def rms_norm_fp8(
    x: Tensor,
    weight: Tensor,
    *,
    eps: float = 1e-06,
    weight_offset: float = 0.0,
    out_dtype: torch.dtype,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """q = x / sqrt(mean(x^2) + eps) * (weight + weight_offset), in fp8, q_scale = max|.| / largest fp8 of each row.
    In: x T[..., M, N]; weight T[N]. Out: q Q[..., M, N]; q_scale f32[M], contiguous.
    T is f32 or f16 or bf16; Q (out_dtype) is e4m3 or e4m3fnuz.
    ValueError: a row has no values.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.rms_norm_fp8(  # type: ignore[no-any-return]
            x, weight, eps=eps, weight_offset=weight_offset, out_dtype=out_dtype
        )
    ops.rockiln.rms_norm_fp8_out(
        x, weight, eps=eps, weight_offset=weight_offset, out_dtype=out_dtype, q=out[0], q_scale=out[1]
    )
    return out


def rms_norm_mxfp4(
    x: Tensor,
    weight: Tensor,
    *,
    eps: float = 1e-06,
    weight_offset: float = 0.0,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """q = x / sqrt(mean(x^2) + eps) * (weight + weight_offset), in MXFP4 (see quant_mxfp4).
    In: x T[..., M, N]; weight T[N]. Out: q u8[..., M, N // 2]; q_scale u8[..., M, N // 32], contiguous.
    T is f32 or f16 or bf16.
    ValueError: a row has no values; the length of a row is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.rms_norm_mxfp4(  # type: ignore[no-any-return]
            x, weight, eps=eps, weight_offset=weight_offset
        )
    ops.rockiln.rms_norm_mxfp4_out(x, weight, eps=eps, weight_offset=weight_offset, q=out[0], q_scale=out[1])
    return out
