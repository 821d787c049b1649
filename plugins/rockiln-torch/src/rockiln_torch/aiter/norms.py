"""AITER's RMSNorm functions → rms_norm, add_rms_norm and their fp8 twins. ROCm/aiter e4048607, aiter/ops/rmsnorm.py."""

from __future__ import annotations

from torch import Tensor

from rockiln_torch import ops
from rockiln_torch.aiter.unsupported import flatten_scale, refuse_others


def rms_norm(input: Tensor, weight: Tensor, epsilon: float, use_model_sensitive_rmsnorm: int = 0) -> Tensor:
    """A new tensor, input / sqrt(mean(input^2) + epsilon) * weight over the last dim; as rockiln's rms_norm."""
    refuse_others("rms_norm", use_model_sensitive_rmsnorm=(use_model_sensitive_rmsnorm, 0))
    return ops.rms_norm(input, weight, eps=epsilon)


def rmsnorm2d_fwd(input: Tensor, weight: Tensor, epsilon: float, use_model_sensitive_rmsnorm: int = 0) -> Tensor:
    """As rms_norm."""
    refuse_others("rmsnorm2d_fwd", use_model_sensitive_rmsnorm=(use_model_sensitive_rmsnorm, 0))
    return ops.rms_norm(input, weight, eps=epsilon)


def rmsnorm(out: Tensor, input: Tensor, weight: Tensor, epsilon: float, gemma_norm: bool = False) -> None:
    """As rms_norm, into `out`; gemma_norm: times weight + 1."""
    ops.rms_norm(input, weight, eps=epsilon, weight_offset=float(gemma_norm), out=out)


def add_rmsnorm(
    out: Tensor,
    input: Tensor,
    residual_in: Tensor,
    residual_out: Tensor,
    weight: Tensor,
    epsilon: float,
    gemma_norm: bool = False,
) -> None:
    """residual_out = input + residual_in, out = its RMSNorm. `out` may be input, residual_out may be residual_in."""
    offset = float(gemma_norm)
    ops.add_rms_norm(input, residual_in, weight, eps=epsilon, weight_offset=offset, out=(out, residual_out))


def rmsnorm2d_fwd_with_add(
    out: Tensor,
    input: Tensor,
    residual_in: Tensor,
    residual_out: Tensor,
    weight: Tensor,
    epsilon: float,
    gemma_norm: bool = False,
    use_model_sensitive_rmsnorm: int = 0,
) -> None:
    """As add_rmsnorm."""
    refuse_others("rmsnorm2d_fwd_with_add", use_model_sensitive_rmsnorm=(use_model_sensitive_rmsnorm, 0))
    add_rmsnorm(out, input, residual_in, residual_out, weight, epsilon, gemma_norm)


def rmsnorm_quant(
    out: Tensor,
    input: Tensor,
    scale: Tensor,
    weight: Tensor,
    epsilon: float,
    group_size: int = 0,
    shuffle_scale: bool = False,
    gemma_norm: bool = False,
) -> None:
    """The RMSNorm of `input` in `out`'s fp8, one scale a row: f32, [M] or [M, 1]."""
    refuse_others("rmsnorm_quant", group_size=(group_size, 0), shuffle_scale=(shuffle_scale, False))
    scales = flatten_scale("rmsnorm_quant", "scale", scale)
    offset = float(gemma_norm)
    ops.rms_norm_fp8(input, weight, eps=epsilon, weight_offset=offset, out_dtype=out.dtype, out=(out, scales))


def add_rmsnorm_quant(
    out: Tensor,
    input: Tensor,
    residual_in: Tensor,
    residual_out: Tensor,
    scale: Tensor,
    weight: Tensor,
    epsilon: float,
    group_size: int = 0,
    shuffle_scale: bool = False,
    gemma_norm: bool = False,
) -> None:
    """residual_out = input + residual_in, `out` and `scale` = its RMSNorm as in rmsnorm_quant."""
    refuse_others("add_rmsnorm_quant", group_size=(group_size, 0), shuffle_scale=(shuffle_scale, False))
    targets = (out, flatten_scale("add_rmsnorm_quant", "scale", scale), residual_out)
    offset = float(gemma_norm)
    ops.add_rms_norm_fp8(
        input, residual_in, weight, eps=epsilon, weight_offset=offset, out_dtype=out.dtype, out=targets
    )


def rmsnorm2d_fwd_with_dynamicquant(
    out: Tensor,
    input: Tensor,
    yscale: Tensor,
    weight: Tensor,
    epsilon: float,
    use_model_sensitive_rmsnorm: int = 0,
    group_size: int = 0,
    shuffle_scale: bool = False,
) -> None:
    """As rmsnorm_quant."""
    name = "rmsnorm2d_fwd_with_dynamicquant"
    refuse_others(name, use_model_sensitive_rmsnorm=(use_model_sensitive_rmsnorm, 0))
    refuse_others(name, group_size=(group_size, 0), shuffle_scale=(shuffle_scale, False))
    rmsnorm_quant(out, input, yscale, weight, epsilon, group_size, shuffle_scale)


def rmsnorm2d_fwd_with_add_dynamicquant(
    out: Tensor,
    input: Tensor,
    residual_in: Tensor,
    residual_out: Tensor,
    yscale: Tensor,
    weight: Tensor,
    epsilon: float,
    use_model_sensitive_rmsnorm: int = 0,
    group_size: int = 0,
    shuffle_scale: bool = False,
) -> None:
    """As add_rmsnorm_quant."""
    name = "rmsnorm2d_fwd_with_add_dynamicquant"
    refuse_others(name, use_model_sensitive_rmsnorm=(use_model_sensitive_rmsnorm, 0))
    refuse_others(name, group_size=(group_size, 0), shuffle_scale=(shuffle_scale, False))
    add_rmsnorm_quant(out, input, residual_in, residual_out, yscale, weight, epsilon, group_size, shuffle_scale)
