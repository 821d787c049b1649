"""quant_* and dequant_* → compositions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from rockiln_torch.framework.narrow import (
    FP8,
    apply_scale,
    dequantise_mx,
    find_largest,
    name_narrow,
    quantise_fp8,
    quantise_mx,
    scale_fp8,
)


def quant_fp8_token(x: Tensor, *, out_dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """q like x, q_scale [rows]."""
    return quantise_fp8(x, out_dtype)


def quant_fp8_group(x: Tensor, *, out_dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """q like x, q_scale [..., cdiv(N, 128)]."""
    return quantise_fp8(x, out_dtype, group=128)


def quant_fp8_tensor(x: Tensor, *, out_dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """q like x, q_scale [1]."""
    name = name_narrow(out_dtype)
    scale = scale_fp8(find_largest(x.reshape(1, -1)), name)
    return apply_scale(x, scale, name), scale


def quant_fp8_block(x: Tensor, *, out_dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """q like x [M, N], q_scale [cdiv(M, 128), cdiv(N, 128)]."""
    name, (rows, columns) = name_narrow(out_dtype), x.shape
    padded = x.new_zeros(rows + -rows % 128, columns + -columns % 128)  # torch 2.7's own padding refuses what is empty
    padded[:rows, :columns] = x
    down, across = padded.shape[0] // 128, padded.shape[1] // 128
    blocks = padded.view(down, 128, across, 128).transpose(1, 2)
    scale = scale_fp8(find_largest(blocks.flatten(-2)), name)
    codes = apply_scale(blocks, scale[..., None, None], name).transpose(1, 2).reshape(padded.shape)
    return codes[:rows, :columns].contiguous(), scale


def quant_fp8_static(x: Tensor, scale: Tensor, *, out_dtype: torch.dtype) -> tuple[Tensor]:
    """q like x, by scale [1]."""
    return (apply_scale(x, scale, name_narrow(out_dtype)),)


def quant_mx(
    form: str,
    x: Tensor,
    *,
    out_dtype: torch.dtype | None = None,
    format: str = "",  # noqa: A002  # as the op calls it
) -> tuple[Tensor, Tensor]:
    """q packed, q_scale [..., N / 32]; `out_dtype` or `format` tell the element format of an op that has several."""
    return quantise_mx(x, format or (name_narrow(out_dtype) if out_dtype else form))


def dequant_mx(
    form: str,
    q: Tensor,
    q_scale: Tensor,
    *,
    out_dtype: torch.dtype,
    format: str = "",  # noqa: A002
) -> tuple[Tensor]:
    """y [..., G * 32] in `out_dtype`; the dtype of fp8 codes tells their format."""
    own = format or (name_narrow(q.dtype) if q.dtype in FP8.values() else form)
    return (dequantise_mx(q, q_scale, own).to(out_dtype),)


_MX = (("mxfp4", "e2m1"), ("mxfp6", "e2m3"), ("mxfp8", "e4m3"))
COMPOSITIONS: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    "quant_fp8_token": quant_fp8_token,
    "quant_fp8_group": quant_fp8_group,
    "quant_fp8_tensor": quant_fp8_tensor,
    "quant_fp8_block": quant_fp8_block,
    "quant_fp8_static": quant_fp8_static,
    **{f"quant_{name}": partial(quant_mx, form) for name, form in _MX},
    **{f"dequant_{name}": partial(dequant_mx, form) for name, form in _MX},
}
