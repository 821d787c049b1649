"""The *_and_mul families → compositions: g and u of x's last dim, cut at limit, gate(g) * (u + up_offset)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from rockiln_torch.framework.narrow import quantise_fp8, quantise_mx
from rockiln_torch.framework.tensors import compute_rows, is_finite, needs_gradient, widen

Gate = Callable[[Tensor, float], Tensor]
Slope = Callable[[Tensor, float], Tensor]
_ROOT = math.sqrt(2.0 / math.pi)


def gate_silu(g: Tensor, alpha: float) -> Tensor:
    """g * sigmoid(alpha * g)."""
    return functional.silu(g) if alpha == 1.0 else g * torch.sigmoid(g * alpha)


def gate_gelu(g: Tensor, _alpha: float) -> Tensor:
    """g / 2 * (1 + erf(g / sqrt 2)). torch's own, by oneDNN of what is contiguous on a CPU, gives NaN of infinity."""
    y = functional.gelu(g)
    if g.device.type != "cpu" or not g.is_contiguous() or is_finite(y):
        return y
    return g * torch.erfc(g * -math.sqrt(0.5)) * 0.5


def gate_gelu_tanh(g: Tensor, _alpha: float) -> Tensor:
    """g / 2 * (1 + tanh(sqrt(2 / pi) * (g + 0.044715 g^3)))."""
    return functional.gelu(g, approximate="tanh")


def slope_silu(g: Tensor, alpha: float) -> Tensor:
    """The derivative of gate_silu."""
    part = torch.sigmoid(g * alpha)
    return part * (1.0 + alpha * g * (1.0 - part))


def slope_gelu(g: Tensor, _alpha: float) -> Tensor:
    """The derivative of gate_gelu."""
    density = torch.exp(-0.5 * g * g) * (1.0 / math.sqrt(2.0 * math.pi))
    return 0.5 * torch.erfc(g * -math.sqrt(0.5)) + g * density


def slope_gelu_tanh(g: Tensor, _alpha: float) -> Tensor:
    """The derivative of gate_gelu_tanh."""
    part = torch.sigmoid((2.0 * _ROOT) * (g + 0.044715 * g * g * g))
    return part + g * part * (1.0 - part) * (2.0 * _ROOT) * (1.0 + 3.0 * 0.044715 * g * g)


def split_pair(x: Tensor, *, interleaved: bool) -> tuple[Tensor, Tensor]:
    """Gate and up of the last dim: halves, or in turn; views."""
    if interleaved:
        return x[..., 0::2], x[..., 1::2]
    gate, up = x.chunk(2, dim=-1) if x.shape[-1] else (x, x)
    return gate, up


def apply_gate(
    x: Tensor,
    gate: Gate,
    *,
    limit: float = 0.0,
    interleaved: bool = False,
    alpha: float = 1.0,
    up_offset: float = 0.0,
    signs_zero: bool = False,
) -> Tensor:
    """gate(g) * (u + up_offset) of x [..., D2] in f32 (f64 of f64), [..., D2 / 2].

    `signs_zero`: u + 0 is computed, too, which makes 0 of -0; codes hold the sign of a zero.
    """
    g, u = split_pair(x, interleaved=interleaved)
    g, in_place = widen(g), not needs_gradient(x)
    if limit > 0.0:
        g, u = g.clamp(max=limit), widen(u).clamp(-limit, limit)
    if up_offset or signs_zero:
        u = u.add_(up_offset) if in_place and limit > 0.0 else widen(u) + up_offset
    y = gate(g, alpha)
    return y.mul_(u) if in_place else y * u


def gate_and_mul(gate: Gate, x: Tensor, **scalars: Any) -> tuple[Tensor]:
    """y [..., D2 / 2] of x [..., D2]."""
    return (compute_rows(lambda rows: apply_gate(rows, gate, **scalars), x.shape[-1] // 2, x),)


def gate_and_mul_fp8(gate: Gate, x: Tensor, *, out_dtype: torch.dtype, **scalars: Any) -> tuple[Tensor, Tensor]:
    """q [..., D2 / 2] in fp8 and q_scale [..., cdiv(D2 / 2, 128)]."""
    return quantise_fp8(apply_gate(x, gate, signs_zero=True, **scalars), out_dtype, group=128)


def gate_and_mul_mxfp4(gate: Gate, x: Tensor, **scalars: Any) -> tuple[Tensor, Tensor]:
    """q [..., D2 / 4] u8 and q_scale [..., D2 / 64] u8."""
    return quantise_mx(apply_gate(x, gate, signs_zero=True, **scalars), "e2m1")


def gate_and_mul_backward(
    gate: Gate,
    slope: Slope,
    dy: Tensor,
    x: Tensor,
    *,
    limit: float = 0.0,
    interleaved: bool = False,
    alpha: float = 1.0,
    up_offset: float = 0.0,
) -> tuple[Tensor]:
    """dx [..., D2] of dy [..., D2 / 2] and x; 0 where limit cuts."""

    def differentiate(x: Tensor, dy: Tensor) -> Tensor:
        g, u = (widen(part) for part in split_pair(x, interleaved=interleaved))
        cut_g, cut_u = (g.clamp(max=limit), u.clamp(-limit, limit)) if limit > 0.0 else (g, u)
        wide = widen(dy)
        dg, du = wide * (cut_u + up_offset) * slope(cut_g, alpha), wide * gate(cut_g, alpha)
        if limit > 0.0:
            dg, du = dg.masked_fill(g > limit, 0.0), du.masked_fill(u.abs() > limit, 0.0)
        return torch.stack((dg, du), dim=-1).flatten(-2) if interleaved else torch.cat((dg, du), dim=-1)

    return (compute_rows(differentiate, x.shape[-1], x, dy),)


def _make_family(name: str, gate: Gate, slope: Slope, **defaults: Any) -> dict[str, Callable[..., tuple[Tensor, ...]]]:
    return {
        name: partial(gate_and_mul, gate, **defaults),
        f"{name}_fp8": partial(gate_and_mul_fp8, gate, **defaults),
        f"{name}_mxfp4": partial(gate_and_mul_mxfp4, gate, **defaults),
        f"{name}_backward": partial(gate_and_mul_backward, gate, slope, **defaults),
    }


COMPOSITIONS: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    **_make_family("silu_and_mul", gate_silu, slope_silu),
    **_make_family("gelu_and_mul", gate_gelu, slope_gelu),
    **_make_family("gelu_tanh_and_mul", gate_gelu_tanh, slope_gelu_tanh),
    **_make_family("swiglu_and_mul", gate_silu, slope_silu, limit=7.0, alpha=1.702, up_offset=1.0, interleaved=True),
}
