"""AITER's gated activations → rockiln's, into `out`. ROCm/aiter e4048607, aiter/ops/activation.py."""

from __future__ import annotations

from torch import Tensor

from rockiln_torch import ops
from rockiln_torch.aiter.unsupported import refuse_others

GROUP = 128


def silu_and_mul(out: Tensor, input: Tensor, limit: float = 0.0) -> None:
    """out[..., D] = silu(g) * u of input[..., 2 D], which holds g, then u; limit > 0 cuts both, as in rockiln."""
    ops.silu_and_mul(input, limit=limit, out=out)


def gelu_and_mul(out: Tensor, input: Tensor) -> None:
    """The same with gelu by erf."""
    ops.gelu_and_mul(input, out=out)


def gelu_tanh_and_mul(out: Tensor, input: Tensor) -> None:
    """The same with gelu by tanh."""
    ops.gelu_tanh_and_mul(input, out=out)


def silu_and_mul_quant(
    out: Tensor,
    input: Tensor,
    scale: Tensor,
    group_size: int,
    limit: float = 0.0,
    shuffle_scale: bool = False,
) -> None:
    """silu_and_mul in `out`'s fp8, one f32 scale for 128 values."""
    refuse_others("silu_and_mul_quant", group_size=(group_size, GROUP), shuffle_scale=(shuffle_scale, False))
    ops.silu_and_mul_fp8(input, limit=limit, out_dtype=out.dtype, out=(out, scale))
