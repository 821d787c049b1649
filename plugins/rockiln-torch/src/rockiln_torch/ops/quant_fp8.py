"""quant_fp8_block and 4 more → torch.ops.rockiln, by name. Made by rockiln_torch.generate of the specs."""

# fmt: off
from __future__ import annotations

import torch
from torch import Tensor, ops

__all__ = ["quant_fp8_block", "quant_fp8_group", "quant_fp8_static", "quant_fp8_tensor", "quant_fp8_token"]


def quant_fp8_block(
    x: Tensor, *, out_dtype: torch.dtype, out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """x in fp8 with one q_scale for 128 x 128 values: max|x| / largest fp8, at least 1e-12; q = x / q_scale, to
    nearest even, saturated; NaN makes its scale NaN.
    In: x T[M, N]. Out: q Q[..., M, N]; q_scale f32[cdiv(M, 128), cdiv(N, 128)], contiguous.
    T is f32 or f16 or bf16; Q (out_dtype) is e4m3 or e5m2 or e4m3fnuz or e5m2fnuz.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.quant_fp8_block(x, out_dtype=out_dtype)  # type: ignore[no-any-return]
    ops.rockiln.quant_fp8_block_out(x, out_dtype=out_dtype, q=out[0], q_scale=out[1])
    return out


def quant_fp8_group(
    x: Tensor, *, out_dtype: torch.dtype, out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """x in fp8 with one q_scale for 128 values of a row: max|x| / largest fp8, at least 1e-12; q = x / q_scale, to
    nearest even, saturated; NaN makes its scale NaN.
    In: x T[..., M, N]. Out: q Q[..., M, N]; q_scale f32[..., M, cdiv(N, 128)], contiguous.
    T is f32 or f16 or bf16; Q (out_dtype) is e4m3 or e5m2 or e4m3fnuz or e5m2fnuz.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.quant_fp8_group(x, out_dtype=out_dtype)  # type: ignore[no-any-return]
    ops.rockiln.quant_fp8_group_out(x, out_dtype=out_dtype, q=out[0], q_scale=out[1])
    return out


def quant_fp8_static(x: Tensor, scale: Tensor, *, out_dtype: torch.dtype, out: Tensor | None = None) -> Tensor:
    """q = x / scale in fp8, to nearest even, saturated; NaN stays NaN.
    In: x T[..., M, N]; scale f32[1]. Out: q Q[..., M, N], contiguous.
    T is f32 or f16 or bf16; Q (out_dtype) is e4m3 or e5m2 or e4m3fnuz or e5m2fnuz.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.quant_fp8_static(x, scale, out_dtype=out_dtype)  # type: ignore[no-any-return]
    ops.rockiln.quant_fp8_static_out(x, scale, out_dtype=out_dtype, q=out)
    return out


def quant_fp8_tensor(
    x: Tensor, *, out_dtype: torch.dtype, out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """x in fp8 with one q_scale for the whole array: max|x| / largest fp8, at least 1e-12; q = x / q_scale, to nearest
    even, saturated; NaN makes its scale NaN.
    In: x T[..., M, N]. Out: q Q[..., M, N]; q_scale f32[1], contiguous.
    T is f32 or f16 or bf16; Q (out_dtype) is e4m3 or e5m2 or e4m3fnuz or e5m2fnuz.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.quant_fp8_tensor(x, out_dtype=out_dtype)  # type: ignore[no-any-return]
    ops.rockiln.quant_fp8_tensor_out(x, out_dtype=out_dtype, q=out[0], q_scale=out[1])
    return out


def quant_fp8_token(
    x: Tensor, *, out_dtype: torch.dtype, out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """x in fp8 with one q_scale for each row: max|x| / largest fp8, at least 1e-12; q = x / q_scale, to nearest even,
    saturated; NaN makes its scale NaN.
    In: x T[..., M, N]. Out: q Q[..., M, N]; q_scale f32[M], contiguous.
    T is f32 or f16 or bf16; Q (out_dtype) is e4m3 or e5m2 or e4m3fnuz or e5m2fnuz.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.quant_fp8_token(x, out_dtype=out_dtype)  # type: ignore[no-any-return]
    ops.rockiln.quant_fp8_token_out(x, out_dtype=out_dtype, q=out[0], q_scale=out[1])
    return out
