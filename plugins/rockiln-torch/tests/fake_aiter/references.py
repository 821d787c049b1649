"""AITER's functions by their documentation, in plain torch: values by name → what is returned, targets written into."""

from __future__ import annotations

import enum
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from fake_aiter import paged, routers

dtypes = SimpleNamespace(
    bf16=torch.bfloat16, fp16=torch.float16, fp32=torch.float32, i8=torch.int8, i32=torch.int32, fp8=torch.float8_e4m3fn
)
ActivationType = enum.Enum("ActivationType", {"No": -1, "Silu": 0, "Gelu": 1, "Swiglu": 2})
QuantType = enum.Enum("QuantType", {"No": 0, "per_Tensor": 1, "per_Token": 2, "per_1x32": 3, "per_1x128": 4,
                                    "per_128x128": 5})  # fmt: skip
GateMode = enum.Enum("GateMode", {"SEPARATED": "separated"})
calls: list[tuple[str, dict[str, Any]]] = []
"""What was called, in order; tests empty it."""
failures: dict[str, Exception] = {}
"""Function → what it raises."""
Reference = Callable[[SimpleNamespace], Any]


def call(name: str, values: dict[str, Any]) -> Any:
    """What the functions of the fake package do."""
    calls.append((name, values))
    if name in failures:
        raise failures[name]
    return REFERENCES[name](SimpleNamespace(**values))


def _norm(x: Tensor, weight: Tensor, eps: float, *, gemma: bool = False) -> Tensor:
    wide = x.float()
    return wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps) * (weight.float() + float(gemma))


def _quantise(x: Tensor, scale: Tensor | None, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    limit = torch.finfo(dtype).max
    scale = x.float().abs().amax(-1, keepdim=True) / limit if scale is None else scale
    return (x.float() / scale).clamp(-limit, limit).to(dtype), scale


def _gemma(v: SimpleNamespace) -> bool:
    return bool(getattr(v, "gemma_norm", False))


def _rms_norm(v: SimpleNamespace) -> Tensor:
    return _norm(v.input, v.weight, v.epsilon).to(v.input.dtype)


def _rmsnorm(v: SimpleNamespace) -> None:
    v.out.copy_(_norm(v.input, v.weight, v.epsilon, gemma=_gemma(v)))


def _add_rmsnorm(v: SimpleNamespace) -> None:
    total = v.input + v.residual_in
    v.out.copy_(_norm(total, v.weight, v.epsilon, gemma=_gemma(v)))
    v.residual_out.copy_(total)


def _rmsnorm_quant(v: SimpleNamespace) -> None:
    q, scale = _quantise(_norm(v.input, v.weight, v.epsilon, gemma=_gemma(v)), None, v.out.dtype)
    v.out.copy_(q)
    target = v.yscale if hasattr(v, "yscale") else v.scale
    target.copy_(scale.view(target.shape))


def _add_rmsnorm_quant(v: SimpleNamespace) -> None:
    total = v.input + v.residual_in
    _rmsnorm_quant(SimpleNamespace(**{**vars(v), "input": total}))
    v.residual_out.copy_(total)


def _gate(function: Callable[[Tensor], Tensor]) -> Reference:
    def run(v: SimpleNamespace) -> None:
        g, u = v.input.float().chunk(2, dim=-1)
        v.out.copy_(function(g) * u)

    return run


def _silu_quant(v: SimpleNamespace) -> None:
    g, u = v.input.float().chunk(2, dim=-1)
    value = (functional.silu(g) * u).unflatten(-1, (-1, v.group_size))
    q, scale = _quantise(value, None, v.out.dtype)
    v.out.copy_(q.flatten(-2))
    v.scale.copy_(scale.squeeze(-1))


def _static(v: SimpleNamespace) -> None:
    v.out.copy_(_quantise(v.input, v.scale, v.out.dtype)[0])


def _dynamic(v: SimpleNamespace) -> None:
    q, scale = _quantise(v.input.reshape(1, -1), None, v.out.dtype)
    v.out.copy_(q.view(v.out.shape))
    v.scale.copy_(scale.view(v.scale.shape))


def _token(v: SimpleNamespace) -> None:
    q, scale = _quantise(v.input, None, v.out.dtype)
    v.out.copy_(q)
    v.scales.copy_(scale.view(v.scales.shape))


def _tensor_hip(v: SimpleNamespace) -> tuple[Tensor, Tensor]:
    if v.scale is not None:
        return _quantise(v.x, v.scale, v.quant_dtype)[0], v.scale.view(1)
    q, scale = _quantise(v.x.reshape(1, -1), None, v.quant_dtype)
    return q.view(v.x.shape), scale.view(1)


def _group_hip(v: SimpleNamespace) -> tuple[Tensor, Tensor]:
    q, scale = _quantise(v.x.unflatten(-1, (-1, v.group_size)), None, v.quant_dtype)
    return q.flatten(-2), scale.squeeze(-1)


def _gemm(v: SimpleNamespace) -> Tensor:
    product = (v.XQ.float() * v.x_scale.view(-1, 1)) @ (v.WQ.float() * v.w_scale.view(-1, 1)).t()
    return (product if v.bias is None else product + v.bias).to(v.dtype)


def _gemm_shuffled(v: SimpleNamespace) -> Tensor:
    return _gemm(SimpleNamespace(**{**vars(v), "WQ": v.WQ.plain}))


def _gemm_block(v: SimpleNamespace) -> Tensor:
    a = v.XQ.float() * v.x_scale.repeat_interleave(128, 1)
    b = v.WQ.float() * v.w_scale.repeat_interleave(128, 0).repeat_interleave(128, 1)
    return (a @ b.t()).to(v.dtype)


def _fused_moe(v: SimpleNamespace) -> Tensor:
    w1, w2 = v.w1.float(), v.w2.float()
    if v.w1_scale is not None:
        w1 = w1 * v.w1_scale.repeat_interleave(128, 1).repeat_interleave(128, 2)
        w2 = w2 * v.w2_scale.repeat_interleave(128, 1).repeat_interleave(128, 2)
    out = torch.zeros(v.hidden_states.shape, dtype=torch.float32)
    for row, choices in enumerate(v.topk_ids.tolist()):
        for place, expert in enumerate(choices):
            g, u = (w1[expert] @ v.hidden_states[row].float()).chunk(2)
            hidden = (functional.silu(g) * u).to(v.hidden_states.dtype).float()
            out[row] += v.topk_weight[row, place] * (w2[expert] @ hidden)
    return out.to(v.hidden_states.dtype)


REFERENCES: dict[str, Reference] = {
    "rms_norm": _rms_norm,
    "rmsnorm2d_fwd": _rms_norm,
    "rmsnorm": _rmsnorm,
    "add_rmsnorm": _add_rmsnorm,
    "rmsnorm2d_fwd_with_add": _add_rmsnorm,
    "rmsnorm_quant": _rmsnorm_quant,
    "rmsnorm2d_fwd_with_dynamicquant": _rmsnorm_quant,
    "add_rmsnorm_quant": _add_rmsnorm_quant,
    "rmsnorm2d_fwd_with_add_dynamicquant": _add_rmsnorm_quant,
    "silu_and_mul": _gate(functional.silu),
    "gelu_and_mul": _gate(functional.gelu),
    "gelu_tanh_and_mul": _gate(lambda g: functional.gelu(g, approximate="tanh")),
    "silu_and_mul_quant": _silu_quant,
    "static_per_tensor_quant": _static,
    "dynamic_per_tensor_quant": _dynamic,
    "dynamic_per_token_scaled_quant": _token,
    "per_tensor_quant_hip": _tensor_hip,
    "per_token_quant_hip": lambda v: _quantise(v.x, None, v.quant_dtype),
    "per_group_quant_hip": _group_hip,
    "gemm_a8w8": _gemm,
    "gemm_a8w8_CK": _gemm,
    "gemm_a8w8_bpreshuffle": _gemm_shuffled,
    "gemm_a8w8_blockscale": _gemm_block,
    "fused_moe": _fused_moe,
    **routers.REFERENCES,
    **paged.REFERENCES,
}
"""By name; what is missing is not called in a test."""
