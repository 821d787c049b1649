"""gemm, gemm_fp8, gemm_mx and stream_k_gemm with their epilogues → compositions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from rockiln_torch.framework.activations import SUFFIXES, activate
from rockiln_torch.framework.narrow import dequantise_mx
from rockiln_torch.framework.products import multiply, multiply_and_activate, multiply_wide

MX_FORMATS = {
    "gemm_mxfp4": ("e2m1", "e2m1"),
    "gemm_mxfp8": ("e4m3", "e4m3"),
    "gemm_mxfp4_weights": ("", "e2m1"),
    "gemm_mxfp8_weights": ("", "e4m3"),
}
"""Op, its epilogue left out → formats of a ("": bf16) and b."""


def gemm(suffix: str, a: Tensor, b: Tensor, bias: Tensor | None = None, *, interleaved: bool = False) -> tuple[Tensor]:
    """out [..., N] like a [..., K]; b [N, K]."""
    return (multiply_and_activate(a, b, bias, suffix, interleaved=interleaved),)


def stream_k_gemm(a: Tensor, b: Tensor, *, programs: int = 304) -> tuple[Tensor]:  # noqa: ARG001  # of the kernel
    """out [..., N] of a [..., K] and b [N, K]."""
    return (multiply(a, b),)


def gemm_fp8(
    suffix: str,
    a: Tensor,
    b: Tensor,
    a_scale: Tensor,
    b_scale: Tensor,
    bias: Tensor | None = None,
    *,
    interleaved: bool = False,
) -> tuple[Tensor]:
    """out [..., N] bf16; a_scale and b_scale hold one number, or one a row."""
    product = multiply_wide(a, b)
    product = product * (a_scale if a_scale.numel() == 1 else a_scale.reshape(*a.shape[:-1], 1))
    product = product * b_scale
    product = product if bias is None else product + bias
    return (activate(product, suffix, interleaved=interleaved).to(torch.bfloat16),)


def widen_blocks(codes: Tensor, scale: Tensor, rows: int = 128) -> Tensor:
    """f32 codes [R, K] times scale [cdiv(R, rows), cdiv(K, 128)], each of which counts for a block."""
    wide = scale.repeat_interleave(128, dim=-1)[..., : codes.shape[-1]]
    if rows > 1:
        wide = wide.repeat_interleave(rows, dim=-2)[..., : codes.shape[-2], :]
    return codes.float() * wide


def gemm_fp8_block(
    suffix: str,
    a: Tensor,
    b: Tensor,
    a_scale: Tensor,
    b_scale: Tensor,
    bias: Tensor | None = None,
    *,
    interleaved: bool = False,
) -> tuple[Tensor]:
    """out [..., N] bf16; a_scale [M, cdiv(K, 128)], b_scale [cdiv(N, 128), cdiv(K, 128)]."""
    wide = widen_blocks(a, a_scale.reshape(*a.shape[:-1], a_scale.shape[-1]), rows=1)
    product = multiply_wide(wide, widen_blocks(b, b_scale), bias)
    return (activate(product, suffix, interleaved=interleaved).to(torch.bfloat16),)


def gemm_mx(base: str, suffix: str, *arrays: Tensor | None, interleaved: bool = False) -> tuple[Tensor]:
    """out [..., N] bf16 of a, (a_scale,) b, b_scale, bias; a or b or both in an MX format."""
    a_format, b_format = MX_FORMATS[base]
    places = list(arrays)
    a = _require(places.pop(0))
    a = dequantise_mx(a, _require(places.pop(0)), a_format) if a_format else a
    b = dequantise_mx(_require(places.pop(0)), _require(places.pop(0)), b_format)
    product = multiply_wide(a, b, places[0] if places else None)
    return (activate(product, suffix, interleaved=interleaved).to(torch.bfloat16),)


def _require(array: Tensor | None) -> Tensor:
    if array is None:
        raise TypeError("only bias may be absent")
    return array


COMPOSITIONS: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    **{f"gemm{suffix}": partial(gemm, suffix) for suffix in SUFFIXES},
    "stream_k_gemm": stream_k_gemm,
    **{f"gemm_fp8{suffix}": partial(gemm_fp8, suffix) for suffix in SUFFIXES},
    **{f"gemm_fp8_block{suffix}": partial(gemm_fp8_block, suffix) for suffix in SUFFIXES},
    **{f"{base}{suffix}": partial(gemm_mx, base, suffix) for base in MX_FORMATS for suffix in SUFFIXES},
}
