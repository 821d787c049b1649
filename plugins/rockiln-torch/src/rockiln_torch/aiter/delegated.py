"""A bound call that judge.py has nothing against → AITER's function called with it, by the convention of AITER's.

Arguments by position are those that both commits of rules.py have in the same place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rockiln_torch.calls import BoundCall

Outputs = tuple[Tensor, ...]
Function = Callable[..., Any]


def _rows(x: Tensor) -> Tensor:
    return x.view(-1, x.shape[-1])


def _first(call: BoundCall, count: int) -> tuple[Tensor, ...]:
    """The first inputs, none of which may be absent."""
    return tuple(tensor for tensor in call.tensors[:count] if tensor is not None)


def _make_codes(call: BoundCall, x: Tensor) -> Tensor:
    return x.new_empty(x.shape, dtype=call.out_dtype)


def _norm(function: Function, call: BoundCall) -> Outputs:
    x, weight = _first(call, 2)
    return (function(_rows(x), weight, call.scalars["eps"]).view(x.shape),)


def _add_norm(function: Function, call: BoundCall) -> Outputs:
    x, residual, weight = _first(call, 3)
    y, total = torch.empty_like(x), torch.empty_like(x)
    function(_rows(y), _rows(x), _rows(residual), _rows(total), weight, call.scalars["eps"])
    return y, total


def _norm_fp8(function: Function, call: BoundCall) -> Outputs:
    x, weight = _first(call, 2)
    q, scale = _make_codes(call, x), x.new_empty((_rows(x).shape[0], 1), dtype=torch.float32)
    function(_rows(q), _rows(x), scale, weight, call.scalars["eps"])
    return q, scale.view(-1)


def _add_norm_fp8(function: Function, call: BoundCall) -> Outputs:
    x, residual, weight = _first(call, 3)
    q, total = _make_codes(call, x), torch.empty_like(x)
    scale = x.new_empty((_rows(x).shape[0], 1), dtype=torch.float32)
    function(_rows(q), _rows(x), _rows(residual), _rows(total), scale, weight, call.scalars["eps"])
    return q, scale.view(-1), total


def _gate(function: Function, call: BoundCall) -> Outputs:
    (x,) = _first(call, 1)
    y = x.new_empty((*x.shape[:-1], x.shape[-1] // 2))
    function(_rows(y), _rows(x))
    return (y,)


def _quant_static(function: Function, call: BoundCall) -> Outputs:
    x, scale = _first(call, 2)
    q = _make_codes(call, x)
    function(_rows(q), _rows(x), scale)
    return (q,)


def _quant_group(function: Function, call: BoundCall) -> Outputs:
    (x,) = _first(call, 1)
    q, scale = function(_rows(x), quant_dtype=call.out_dtype, group_size=128)
    return q.view(x.shape), scale.view(*x.shape[:-1], -1)


def _gemm(function: Function, call: BoundCall) -> Outputs:
    a, b, a_scale, b_scale = _first(call, 4)
    out = function(_rows(a), b, a_scale.view(-1, 1), b_scale.view(1, -1), None, torch.bfloat16)
    return (out.view(*a.shape[:-1], b.shape[0]),)


def _gemm_block(function: Function, call: BoundCall) -> Outputs:
    a, b, a_scale, b_scale = _first(call, 4)
    out = function(_rows(a), b, a_scale, b_scale, torch.bfloat16)
    return (out.view(*a.shape[:-1], b.shape[0]),)


def _gate_softmax(function: Function, call: BoundCall) -> Outputs:
    (logits,) = _first(call, 1)
    shape = (*logits.shape[:-1], call.scalars["top"])
    weights = logits.new_empty(shape, dtype=torch.float32)
    ids, places = (logits.new_empty(shape, dtype=torch.int32) for _ in range(2))
    function(_rows(weights), _rows(ids), _rows(places), _rows(logits), call.scalars["renormalise"])
    return weights, ids


def _attention(function: Function, call: BoundCall) -> Outputs:
    q, k, v, starts_q, starts_k = _first(call, 5)
    words, causal = call.scalars, bool(call.scalars["causal"])
    out, lse = function(
        q,
        k,
        v,
        starts_q,
        starts_k,
        words["max_seqlen_q"],
        words["max_seqlen_k"] or k.shape[0],
        softmax_scale=words["scale"],
        causal=causal,
        window_size=(words["window_left"], 0 if causal and words["window_left"] >= 0 else -1),
        return_lse=True,
    )
    return out, lse


CALLERS: dict[str, Callable[[Function, BoundCall], Outputs]] = {
    "add_rms_norm": _add_norm,
    "add_rms_norm_fp8": _add_norm_fp8,
    "attention_prefill": _attention,
    "gelu_and_mul": _gate,
    "gelu_tanh_and_mul": _gate,
    "gemm_fp8": _gemm,
    "gemm_fp8_block": _gemm_block,
    "quant_fp8_group": _quant_group,
    "quant_fp8_static": _quant_static,
    "rms_norm": _norm,
    "rms_norm_fp8": _norm_fp8,
    "silu_and_mul": _gate,
    "topk_softmax": _gate_softmax,
}
"""By op: those of rules.RULES."""
