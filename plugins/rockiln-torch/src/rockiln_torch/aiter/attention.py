"""AITER's flash_attn functions → attention_prefill. ROCm/aiter e4048607, aiter/ops/mha.py."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rockiln_torch import ops
from rockiln_torch.aiter.options import Options
from rockiln_torch.aiter.unsupported import refuse

_USED = frozenset({"softmax_scale", "causal", "window_size", "return_lse", "sink_ptr"})
_HINTS = frozenset({"deterministic", "how_v3_bf16_cvt", "num_splits"})
_DENSE = Options(
    function="flash_attn_func",
    required=3,
    defaults={
        "dropout_p": 0.0, "softmax_scale": None, "causal": False, "window_size": (-1, -1, 0), "bias": None,
        "alibi_slopes": None, "deterministic": True, "return_lse": False, "return_attn_probs": False,
        "how_v3_bf16_cvt": 1, "cu_seqlens_q": None, "cu_seqlens_kv": None, "sink_ptr": None, "num_splits": 0,
    },
    used=_USED,
    hints=_HINTS,
)  # fmt: skip
_PACKED = Options(
    function="flash_attn_varlen_func",
    required=7,
    defaults={
        "min_seqlen_q": 0, "dropout_p": 0.0, "softmax_scale": None, "logits_soft_cap": 0.0, "causal": False,
        "window_size": (-1, -1, 0), "bias": None, "alibi_slopes": None, "deterministic": False, "return_lse": False,
        "return_attn_probs": False, "how_v3_bf16_cvt": 1, "block_table": None, "out": None,
        "cu_seqlens_q_padded": None, "cu_seqlens_k_padded": None, "sink_ptr": None,
    },
    used=_USED | {"out"},
    hints=_HINTS,
)  # fmt: skip


@_PACKED.describe
def flash_attn_varlen_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    *args: Any,
    **words: Any,
) -> Any:
    """q [T, H, D], k, v packed → out [T, H, DV], a new tensor or `out`; with return_lse also lse f32[H, T].

    Causal is aligned to the bottom right; a query that sees no key gives 0. sink_ptr f32[H]: a logit of its own.
    """
    values = _PACKED.bind(args, words)
    starts = (cu_seqlens_q, cu_seqlens_k)
    out, lse = _attend("flash_attn_varlen_func", (q, k, v), starts, (int(max_seqlen_q), int(max_seqlen_k)), values)
    if values["out"] is not None:
        out = values["out"].copy_(out)
    return (out, lse) if values["return_lse"] else out


@_DENSE.describe
def flash_attn_func(q: Tensor, k: Tensor, v: Tensor, *args: Any, **words: Any) -> Any:
    """q [B, S, H, D], k, v → out [B, S, H, DV], and with return_lse lse f32[B, H, S]; else as the varlen function."""
    values = _DENSE.bind(args, words)
    batch, length, heads, _ = q.shape
    sizes = (length, k.shape[1])
    starts = [torch.arange(batch + 1, dtype=torch.int32, device=q.device) * size for size in sizes]
    packed = (q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1))
    out, lse = _attend("flash_attn_func", packed, (starts[0], starts[1]), sizes, values)
    out = out.view(batch, length, heads, -1)
    return (out, lse.view(heads, batch, length).transpose(0, 1).contiguous()) if values["return_lse"] else out


def _attend(
    function: str,
    operands: tuple[Tensor, Tensor, Tensor],
    starts: tuple[Tensor, Tensor],
    sizes: tuple[int, int],
    values: dict[str, Any],
) -> tuple[Tensor, Tensor]:
    causal, window = _read_window(function, values)
    scale, sinks = values["softmax_scale"], values["sink_ptr"]
    return ops.attention_prefill(
        *operands,
        *starts,
        None if sinks is None else sinks.float(),
        scale=float(operands[0].shape[-1] ** -0.5 if scale is None else scale),
        causal=causal,
        window_left=window,
        max_seqlen_q=sizes[0],
        max_seqlen_k=sizes[1],
    )


def _read_window(function: str, values: dict[str, Any]) -> tuple[bool, int]:
    """causal, window_left. A right side of 0 is causal; with causal, keys on the right are never seen anyway."""
    left, right, *sink = values["window_size"]
    if any(sink):
        raise refuse(function, f"window_size = {values['window_size']} is not supported: keys at the start as a sink")
    causal = bool(values["causal"]) or right == 0
    if right > 0 and not causal:
        raise refuse(function, f"window_size = {values['window_size']} is not supported: keys on the right are cut")
    return causal, int(left)
