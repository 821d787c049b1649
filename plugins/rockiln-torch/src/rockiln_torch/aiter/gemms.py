"""AITER's fp8 GEMMs → gemm_fp8 and gemm_fp8_block. ROCm/aiter e4048607, aiter/ops/gemm_op_a8w8.py, ops/shuffle.py."""

from __future__ import annotations

import torch
from torch import Tensor

from rockiln_torch import ops
from rockiln_torch.aiter.unsupported import flatten_scale, refuse, refuse_others

_TILE = (16, 32)
"""Rows and bytes of a row that shuffle_weight's layout (16, 16) keeps together."""


def gemm_a8w8(
    XQ: Tensor,
    WQ: Tensor,
    x_scale: Tensor,
    w_scale: Tensor,
    bias: Tensor | None = None,
    dtype: torch.dtype = torch.bfloat16,
    splitK: int | None = None,
) -> Tensor:
    """(XQ x_scale) (WQ w_scale)^T + bias in bf16: XQ [M, K], WQ [N, K] in fp8, x_scale [M, 1], w_scale [1, N], f32.

    One scale each is taken, too. splitK is a hint that has no meaning here.
    """
    return _multiply("gemm_a8w8", XQ, WQ, x_scale, w_scale, bias, dtype)


def gemm_a8w8_CK(
    XQ: Tensor,
    WQ: Tensor,
    x_scale: Tensor,
    w_scale: Tensor,
    bias: Tensor | None = None,
    dtype: torch.dtype = torch.bfloat16,
    splitK: int | None = None,
) -> Tensor:
    """As gemm_a8w8."""
    return _multiply("gemm_a8w8_CK", XQ, WQ, x_scale, w_scale, bias, dtype)


def gemm_a8w8_bpreshuffle(
    XQ: Tensor,
    WQ: Tensor,
    x_scale: Tensor,
    w_scale: Tensor,
    bias: Tensor | None = None,
    dtype: torch.dtype = torch.bfloat16,
    check: bool = False,
) -> Tensor:
    """gemm_a8w8 of a weight in the order of shuffle_weight(weight, (16, 16)), which each call puts back by a copy.

    Who has the plain weight calls gemm_a8w8. `check` has no meaning here: everything is checked.
    """
    name = "gemm_a8w8_bpreshuffle"
    refuse_others(name, bias=(bias, None))
    if WQ.shape[0] % _TILE[0] or WQ.shape[1] % _TILE[1] or WQ.element_size() != 1:
        raise refuse(name, f"WQ {[*WQ.shape]} of {WQ.dtype} is no shuffled weight: tiles of 16 rows and 32 bytes")
    return _multiply(name, XQ, unshuffle_weight(WQ), x_scale, w_scale, None, dtype)


def gemm_a8w8_blockscale(
    XQ: Tensor,
    WQ: Tensor,
    x_scale: Tensor,
    w_scale: Tensor,
    dtype: torch.dtype = torch.bfloat16,
    isBpreshuffled: bool = False,
) -> Tensor:
    """The same with x_scale [M, K / 128] and w_scale [N / 128, K / 128], f32, rounded up."""
    refuse_others("gemm_a8w8_blockscale", dtype=(dtype, torch.bfloat16), isBpreshuffled=(isBpreshuffled, False))
    return ops.gemm_fp8_block(XQ, WQ, x_scale, w_scale)


def unshuffle_weight(weight: Tensor) -> Tensor:
    """The inverse of AITER's shuffle_weight(weight, (16, 16)) of one-byte elements: a copy, [N, K]."""
    rows, columns = weight.shape
    tiles = weight.view(rows // 16, columns // 32, 2, 16, 16)
    return tiles.permute(0, 3, 1, 2, 4).reshape(rows, columns)


def _multiply(
    function: str, a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor, bias: Tensor | None, dtype: torch.dtype
) -> Tensor:
    refuse_others(function, dtype=(dtype, torch.bfloat16))
    scales = flatten_scale(function, "x_scale", a_scale), flatten_scale(function, "w_scale", b_scale)
    return ops.gemm_fp8(a, b, *scales, None if bias is None else bias.float())
