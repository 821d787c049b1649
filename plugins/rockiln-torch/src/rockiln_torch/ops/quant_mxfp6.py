"""dequant_mxfp6 and 1 more → torch.ops.rockiln, by name. Made by rockiln_torch.generate of the specs."""

# fmt: off
from __future__ import annotations

import torch
from torch import Tensor, ops

from rockiln_torch.formats import find_format

__all__ = ["dequant_mxfp6", "quant_mxfp6"]


def dequant_mxfp6(
    q: Tensor, q_scale: Tensor, *, out_dtype: torch.dtype, fp6_format: str = "e2m3", out: Tensor | None = None
) -> Tensor:
    """y = q * 2^(q_scale - 127) of q in e2m3 or e3m2, four in three bytes, the first in the lowest bits, with one E8M0
    scale for 32 values of a row.
    In: q u8[..., M, G * 24]; q_scale u8[..., M, G]. Out: y T[..., M, G * 32], contiguous.
    T (out_dtype) is f32 or f16 or bf16; E (fp6_format) is e2m3 or e3m2.
    ValueError: q_scale has no columns.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.dequant_mxfp6(  # type: ignore[no-any-return]
            q, q_scale, out_dtype=out_dtype, fp6_format=find_format(fp6_format, ("e2m3", "e3m2"))
        )
    ops.rockiln.dequant_mxfp6_out(
        q, q_scale, out_dtype=out_dtype, fp6_format=find_format(fp6_format, ("e2m3", "e3m2")), y=out
    )
    return out


def quant_mxfp6(
    x: Tensor, *, fp6_format: str = "e2m3", out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """x in e2m3 or e3m2, four in three bytes, the first in the lowest bits, with one E8M0 scale for 32 values of a
    row; q to nearest even, saturated. A block with NaN or infinity has the scale NaN.
    In: x T[..., M, N]. Out: q u8[..., M, N * 24 // 32]; q_scale u8[..., M, N // 32], contiguous.
    T is f32 or f16 or bf16; E (fp6_format) is e2m3 or e3m2.
    ValueError: the length of a row is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.quant_mxfp6(  # type: ignore[no-any-return]
            x, fp6_format=find_format(fp6_format, ("e2m3", "e3m2"))
        )
    ops.rockiln.quant_mxfp6_out(x, fp6_format=find_format(fp6_format, ("e2m3", "e3m2")), q=out[0], q_scale=out[1])
    return out
