"""An op's name → what a PyTorch user writes for it today: the spellings that compositions are timed against."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def rms_norm(x: Tensor, weight: Tensor, *, eps: float = 1e-6) -> Tensor:
    """torch's own function."""
    return functional.rms_norm(x, (x.shape[-1],), weight, eps)


def add_rms_norm(x: Tensor, residual: Tensor, weight: Tensor, *, eps: float = 1e-6) -> tuple[Tensor, Tensor]:
    """The sum, then torch's own function."""
    added = x + residual
    return functional.rms_norm(added, (x.shape[-1],), weight, eps), added


def _multiply_gate(activate: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    def gate(x: Tensor) -> Tensor:
        g, u = x.chunk(2, dim=-1)
        return activate(g) * u

    return gate


def swiglu_and_mul(x: Tensor) -> Tensor:
    """As gpt-oss has it in Transformers."""
    gate, up = x[..., ::2].clamp(max=7.0), x[..., 1::2].clamp(-7.0, 7.0)
    return (up + 1.0) * (gate * torch.sigmoid(gate * 1.702))


def rope(x: Tensor, cos: Tensor, sin: Tensor, positions: Tensor) -> Tensor:
    """rotate_half, as Llama has it in Transformers: cos and sin of whole heads, in the dtype of x."""
    own_cos, own_sin = (
        torch.cat((table[positions], table[positions]), dim=-1).to(x.dtype).unsqueeze(1) for table in (cos, sin)
    )
    half = x.shape[-1] // 2
    return x * own_cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * own_sin


def _activate_linear(activate: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    return lambda a, b: activate(functional.linear(a, b))


def attention_prefill(q: Tensor, k: Tensor, v: Tensor, _starts_q: Tensor, _starts_k: Tensor, **words: Any) -> Tensor:
    """scaled_dot_product_attention of one sequence, keys repeated for each head as in Transformers."""
    group = q.shape[1] // k.shape[1]
    own_q, own_k, own_v = (part.transpose(0, 1)[None] for part in (q, k, v))
    own_k, own_v = own_k.repeat_interleave(group, dim=1), own_v.repeat_interleave(group, dim=1)
    out = functional.scaled_dot_product_attention(own_q, own_k, own_v, is_causal=True, scale=words["scale"])
    return out[0].transpose(0, 1)


def paged_decode(q: Tensor, k_cache: Tensor, v_cache: Tensor, tables: Tensor, lens: Tensor, **words: Any) -> Tensor:
    """Each sequence's pages gathered, then scaled_dot_product_attention."""
    outs = []
    for own, table, count in zip(q, tables, lens.tolist(), strict=True):
        k, v = (cache[table].flatten(0, 1)[:count].transpose(0, 1)[None] for cache in (k_cache, v_cache))
        query = own.transpose(0, 1)[None]
        out = functional.scaled_dot_product_attention(query, k, v, scale=words["scale"], enable_gqa=True)
        outs.append(out[0].transpose(0, 1))
    return torch.stack(outs)


def mla_decode(q: Tensor, cache: Tensor, tables: Tensor, lens: Tensor, **words: Any) -> Tensor:
    """As paged_decode, the latent being key and value of all heads."""
    outs = []
    for own, table, count in zip(q, tables, lens.tolist(), strict=True):
        tokens = cache[table].flatten(0, 1)[:count]
        out = functional.scaled_dot_product_attention(
            own.flatten(0, 1)[None, None], tokens[None, None], tokens[None, None, :, :512], scale=words["scale"]
        )
        outs.append(out.view(*own.shape[:2], 512))
    return torch.stack(outs)


def topk_softmax(logits: Tensor, *, top: int) -> tuple[Tensor, Tensor]:
    """As Qwen3 MoE has it in Transformers."""
    weights, ids = torch.topk(functional.softmax(logits, dim=-1, dtype=torch.float32), top, dim=-1)
    return weights / weights.sum(-1, keepdim=True), ids


def topk_sigmoid(
    logits: Tensor, bias: Tensor, *, top: int, groups: int, keep: int, scaling: float
) -> tuple[Tensor, Tensor]:
    """As DeepSeek V3 has it in Transformers."""
    scores = logits.float().sigmoid()
    choice = scores + bias
    best = choice.view(-1, groups, choice.shape[-1] // groups).topk(2, dim=-1)[0].sum(dim=-1)
    mask = torch.zeros_like(best).scatter_(1, torch.topk(best, k=keep, dim=-1, sorted=False)[1], 1)
    wide = mask.unsqueeze(-1).expand(-1, groups, choice.shape[-1] // groups).reshape(-1, choice.shape[-1])
    ids = torch.topk(choice.masked_fill(~wide.bool(), 0.0), k=top, dim=-1, sorted=False)[1]
    weights = scores.gather(1, ids)
    return weights / (weights.sum(dim=-1, keepdim=True) + 1e-20) * scaling, ids


def fused_moe(x: Tensor, gate_up: Tensor, down: Tensor, weights: Tensor, ids: Tensor) -> Tensor:
    """As Mixtral has it in Transformers: a loop over the experts that are hit."""
    out = torch.zeros_like(x)
    mask = functional.one_hot(ids.long(), num_classes=len(gate_up)).permute(2, 1, 0)
    for expert in mask.sum(dim=(-1, -2)).nonzero().flatten().tolist():
        place, tokens = torch.where(mask[expert])
        gate, up = functional.linear(x[tokens], gate_up[expert]).chunk(2, dim=-1)
        value = functional.linear(functional.silu(gate) * up, down[expert]) * weights[tokens, place, None]
        out.index_add_(0, tokens, value.to(out.dtype))
    return out


def quant_fp8_token(x: Tensor, *, out_dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """One scale a row."""
    scale = (x.abs().amax(dim=-1, keepdim=True).float() / 448.0).clamp(min=1e-12)
    return (x.float() / scale).clamp(-448.0, 448.0).to(out_dtype), scale


def quant_fp8_tensor(x: Tensor, *, out_dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """One scale for all."""
    scale = (x.abs().max().float() / 448.0).clamp(min=1e-12)
    return (x.float() / scale).clamp(-448.0, 448.0).to(out_dtype), scale


def quant_fp8_group(x: Tensor, *, out_dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """One scale for 128 values."""
    groups = x.unflatten(-1, (-1, 128))
    scale = (groups.abs().amax(dim=-1, keepdim=True).float() / 448.0).clamp(min=1e-12)
    return (groups.float() / scale).clamp(-448.0, 448.0).to(out_dtype).flatten(-2), scale


EAGER: dict[str, Callable[..., Any]] = {
    "rms_norm": rms_norm,
    "add_rms_norm": add_rms_norm,
    "silu_and_mul": _multiply_gate(functional.silu),
    "gelu_and_mul": _multiply_gate(functional.gelu),
    "gelu_tanh_and_mul": _multiply_gate(lambda g: functional.gelu(g, approximate="tanh")),
    "swiglu_and_mul": swiglu_and_mul,
    "rope": rope,
    "gemm": functional.linear,
    "stream_k_gemm": functional.linear,
    "gemm_silu": _activate_linear(functional.silu),
    "gemm_gelu": _activate_linear(functional.gelu),
    "gemm_gelu_tanh": _activate_linear(lambda x: functional.gelu(x, approximate="tanh")),
    "gemm_swiglu": _activate_linear(_multiply_gate(functional.silu)),
    "attention_prefill": attention_prefill,
    "paged_decode": paged_decode,
    "mla_decode": mla_decode,
    "topk_softmax": topk_softmax,
    "topk_sigmoid": topk_sigmoid,
    "fused_moe": fused_moe,
    "quant_fp8_token": quant_fp8_token,
    "quant_fp8_tensor": quant_fp8_tensor,
    "quant_fp8_group": quant_fp8_group,
}
