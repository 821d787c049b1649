"""dequant_mxfp8 and 1 more → torch.ops.rockiln, by name. Made by rockiln_torch.generate of the specs."""

# fmt: off
from __future__ import annotations

import torch
from torch import Tensor, ops

__all__ = ["dequant_mxfp8", "quant_mxfp8"]


def dequant_mxfp8(q: Tensor, q_scale: Tensor, *, out_dtype: torch.dtype, out: Tensor | None = None) -> Tensor:
    """y = q * 2^(q_scale - 127) of q in e4m3 or e5m2, one byte each, with one E8M0 scale for 32 values of a row.
    In: q E[..., M, G * 32]; q_scale u8[..., M, G]. Out: y T[..., M, G * 32], contiguous.
    T (out_dtype) is f32 or f16 or bf16; E is e4m3 or e5m2.
    ValueError: q_scale has no columns.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.dequant_mxfp8(q, q_scale, out_dtype=out_dtype)  # type: ignore[no-any-return]
    ops.rockiln.dequant_mxfp8_out(q, q_scale, out_dtype=out_dtype, y=out)
    return out


def quant_mxfp8(
    x: Tensor, *, out_dtype: torch.dtype, out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """x in e4m3 or e5m2, one byte each, with one E8M0 scale for 32 values of a row; q to nearest even, saturated. A
    block with NaN or infinity has the scale NaN.
    In: x T[..., M, N]. Out: q E[..., M, N * 32 // 32]; q_scale u8[..., M, N // 32], contiguous.
    T is f32 or f16 or bf16; E (out_dtype) is e4m3 or e5m2.
    ValueError: the length of a row is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.quant_mxfp8(x, out_dtype=out_dtype)  # type: ignore[no-any-return]
    ops.rockiln.quant_mxfp8_out(x, out_dtype=out_dtype, q=out[0], q_scale=out[1])
    return out
