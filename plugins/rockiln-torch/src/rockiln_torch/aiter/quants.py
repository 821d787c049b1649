"""AITER's fp8 quantisations → rockiln's. int8 has no op here. ROCm/aiter e4048607, aiter/ops/quant.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from rockiln_torch import ops
from rockiln_torch.aiter.numbers import QuantType, read_number
from rockiln_torch.aiter.unsupported import flatten_scale, refuse, refuse_others

GROUP = 128


def static_per_tensor_quant(out: Tensor, input: Tensor, scale: Tensor) -> None:
    """out = input / scale in out's fp8; scale f32 of one element."""
    scales = flatten_scale("static_per_tensor_quant", "scale", scale)
    ops.quant_fp8_static(input, scales, out_dtype=out.dtype, out=out)


def dynamic_per_tensor_quant(out: Tensor, input: Tensor, scale: Tensor) -> None:
    """The same with the scale max|input| / largest fp8, which is written into `scale`."""
    scales = flatten_scale("dynamic_per_tensor_quant", "scale", scale)
    ops.quant_fp8_tensor(input, out_dtype=out.dtype, out=(out, scales))


def dynamic_per_token_scaled_quant(
    out: Tensor,
    input: Tensor,
    scales: Tensor,
    scale_ub: Tensor | None = None,
    shuffle_scale: bool = False,
    num_rows: Tensor | None = None,
    num_rows_factor: int = 1,
) -> None:
    """One scale a row of `input`: `scales`, f32, [M] or [M, 1]."""
    name = "dynamic_per_token_scaled_quant"
    refuse_others(name, scale_ub=(scale_ub, None), shuffle_scale=(shuffle_scale, False), num_rows=(num_rows, None))
    refuse_others(name, num_rows_factor=(num_rows_factor, 1))
    ops.quant_fp8_token(input, out_dtype=out.dtype, out=(out, flatten_scale(name, "scales", scales)))


def per_tensor_quant_hip(
    x: Tensor,
    scale: Tensor | None = None,
    quant_dtype: torch.dtype = torch.int8,
    num_rows: Tensor | None = None,
    num_rows_factor: int = 1,
) -> tuple[Tensor, Tensor]:
    """x in quant_dtype, which has to be given: an fp8; and its scale [1], which is `scale` if that is given."""
    _refuse_int8("per_tensor_quant_hip", quant_dtype)
    refuse_others("per_tensor_quant_hip", num_rows=(num_rows, None), num_rows_factor=(num_rows_factor, 1))
    if scale is None:
        return ops.quant_fp8_tensor(x, out_dtype=quant_dtype)
    scales = flatten_scale("per_tensor_quant_hip", "scale", scale)
    return ops.quant_fp8_static(x, scales, out_dtype=quant_dtype), scales


def per_token_quant_hip(
    x: Tensor,
    scale: Tensor | None = None,
    quant_dtype: torch.dtype = torch.int8,
    num_rows: Tensor | None = None,
    num_rows_factor: int = 1,
) -> tuple[Tensor, Tensor]:
    """x in quant_dtype, an fp8, and one scale a row: f32[..., M, 1]."""
    _refuse_int8("per_token_quant_hip", quant_dtype)
    refuse_others("per_token_quant_hip", scale=(scale, None), num_rows=(num_rows, None))
    refuse_others("per_token_quant_hip", num_rows_factor=(num_rows_factor, 1))
    q, scales = ops.quant_fp8_token(x, out_dtype=quant_dtype)
    return q, scales.view(*x.shape[:-1], 1)


def per_group_quant_hip(
    x: Tensor,
    scale: Tensor | None = None,
    quant_dtype: torch.dtype = torch.int8,
    group_size: int = GROUP,
    transpose_scale: bool = False,
    num_rows: Tensor | None = None,
    num_rows_factor: int = 1,
    scale_type: torch.dtype = torch.float32,
) -> tuple[Tensor, Tensor]:
    """x in quant_dtype, an fp8, and one scale for 128 values of a row: f32[..., M, N / 128]."""
    name = "per_group_quant_hip"
    _refuse_int8(name, quant_dtype)
    refuse_others(name, scale=(scale, None), group_size=(group_size, GROUP), num_rows=(num_rows, None))
    refuse_others(name, transpose_scale=(transpose_scale, False), num_rows_factor=(num_rows_factor, 1))
    refuse_others(name, scale_type=(scale_type, torch.float32))
    if x.shape[-1] % GROUP:
        raise refuse(name, f"rows of {x.shape[-1]} values are no whole groups of {GROUP}")
    return ops.quant_fp8_group(x, out_dtype=quant_dtype)


def get_hip_quant(qType: QuantType | int) -> Callable[..., tuple[Tensor, Tensor | None]]:
    """The function of a QuantType, ours or AITER's own: No, per_Tensor, per_Token, per_1x128."""
    functions: dict[int, Callable[..., tuple[Tensor, Tensor | None]]] = {
        QuantType.No: lambda x, *_, **__: (x, None),
        QuantType.per_Tensor: per_tensor_quant_hip,
        QuantType.per_Token: per_token_quant_hip,
        QuantType.per_1x128: partial(per_group_quant_hip, group_size=GROUP),
    }
    number = read_number(qType)
    if number not in functions:
        raise refuse("get_hip_quant", f"{qType!r} is not supported, only No, per_Tensor, per_Token and per_1x128")
    return functions[number]


def _refuse_int8(function: str, dtype: torch.dtype) -> None:
    """AITER's default: so that who leaves it out hears it."""
    if dtype is torch.int8:
        raise refuse(function, "quant_dtype is torch.int8; name an fp8, such as torch.float8_e4m3fnuz on gfx942")
