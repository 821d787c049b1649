"""rms_norm's family → compositions."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from rockiln_torch.framework.narrow import quantise_fp8, quantise_mx
from rockiln_torch.framework.tensors import compute_rows, is_worth_cutting, widen


def normalise(x: Tensor, weight: Tensor, eps: float, weight_offset: float) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * (weight + weight_offset) over the last dim, in f32 (f64 of f64).

    Contiguous, since torch adds up other strides in another order, and codes show it.
    """
    wide, own = widen(x).contiguous(), widen(weight)
    return functional.rms_norm(wide, (x.shape[-1],), own + weight_offset if weight_offset else own, eps)


def rms_norm(x: Tensor, weight: Tensor, *, eps: float = 1e-6, weight_offset: float = 0.0) -> tuple[Tensor]:
    """y like x [..., N]; weight [N]."""
    own = widen(weight)
    own = own + weight_offset if weight_offset else own
    if not is_worth_cutting(x, own):
        return (functional.rms_norm(widen(x), (x.shape[-1],), own, eps).to(x.dtype),)
    return (compute_rows(lambda rows: functional.rms_norm(rows.float(), (x.shape[-1],), own, eps), x.shape[-1], x),)


def add_rms_norm(
    x: Tensor, residual: Tensor, weight: Tensor, *, eps: float = 1e-6, weight_offset: float = 0.0
) -> tuple[Tensor, Tensor]:
    """y and residual_out = x + residual, both like x."""
    added = x + residual
    (y,) = rms_norm(added, weight, eps=eps, weight_offset=weight_offset)
    return y, added


def rms_norm_fp8(
    x: Tensor, weight: Tensor, *, out_dtype: torch.dtype, eps: float = 1e-6, weight_offset: float = 0.0
) -> tuple[Tensor, Tensor]:
    """q like x in fp8, q_scale [rows]."""
    return quantise_fp8(normalise(x, weight, eps, weight_offset), out_dtype)


def rms_norm_mxfp4(
    x: Tensor, weight: Tensor, *, eps: float = 1e-6, weight_offset: float = 0.0
) -> tuple[Tensor, Tensor]:
    """q [..., N / 2] u8, q_scale [..., N / 32] u8."""
    return quantise_mx(normalise(x, weight, eps, weight_offset), "e2m1")


def add_rms_norm_fp8(
    x: Tensor,
    residual: Tensor,
    weight: Tensor,
    *,
    out_dtype: torch.dtype,
    eps: float = 1e-6,
    weight_offset: float = 0.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """q, q_scale, residual_out."""
    added = x + residual
    return (*rms_norm_fp8(added, weight, out_dtype=out_dtype, eps=eps, weight_offset=weight_offset), added)


def add_rms_norm_mxfp4(
    x: Tensor, residual: Tensor, weight: Tensor, *, eps: float = 1e-6, weight_offset: float = 0.0
) -> tuple[Tensor, Tensor, Tensor]:
    """q, q_scale, residual_out."""
    added = x + residual
    return (*rms_norm_mxfp4(added, weight, eps=eps, weight_offset=weight_offset), added)


def rms_norm_backward(
    dy: Tensor, x: Tensor, weight: Tensor, *, eps: float = 1e-6, weight_offset: float = 0.0
) -> tuple[Tensor, Tensor]:
    """dx like x, dweight [N]."""
    own, wide, slope = widen(weight) + weight_offset, widen(x), widen(dy)
    inverse = torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    normal, weighted = wide * inverse, slope * own
    dx = inverse * (weighted - normal * (weighted * normal).mean(-1, keepdim=True))
    dweight = (slope * normal).reshape(-1, x.shape[-1]).sum(0)
    return dx.to(x.dtype), dweight.to(weight.dtype)


COMPOSITIONS: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    "rms_norm": rms_norm,
    "add_rms_norm": add_rms_norm,
    "rms_norm_fp8": rms_norm_fp8,
    "rms_norm_mxfp4": rms_norm_mxfp4,
    "add_rms_norm_fp8": add_rms_norm_fp8,
    "add_rms_norm_mxfp4": add_rms_norm_mxfp4,
    "rms_norm_backward": rms_norm_backward,
}
