"""attention_prefill and 1 more → torch.ops.rockiln, by name. Made by rockiln_torch.generate of the specs."""

# fmt: off
from __future__ import annotations

from torch import Tensor, ops

__all__ = ["attention_prefill", "attention_prefill_backward"]


def attention_prefill(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    sinks: Tensor | None = None,
    *,
    scale: float,
    max_seqlen_q: int,
    max_seqlen_k: int = 0,
    causal: bool = True,
    window_left: int = -1,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """out = softmax(scale * q k^T) v for each sequence and head, lse = log of the softmax's sum. Sequences are packed:
    cu_seqlens hold where each starts, and the end. The last query stands at the last key; with causal a query sees
    no later key, with window_left >= 0 at most that many before its own. A sink is a logit of its own in each sum,
    lse included, without a value. A query that sees no key gives 0, and lse -inf. A NaN in v may reach queries that
    do not see its key. Deterministic: keys are taken in one order.
    In: q T[TQ, HQ, D]; k T[TK, HK, D]; v T[TK, HK, DV]; cu_seqlens_q i32[B1]; cu_seqlens_k i32[B1]; sinks f32[HQ]
    or None. Out: out T[TQ, HQ, DV]; lse f32[HQ, TQ], contiguous.
    T is f16 or bf16.
    ValueError: the heads of q are no multiple of the heads of k; there is no sequence.
    Differentiable, by attention_prefill_backward.
    Source: Dao, https://arxiv.org/abs/2307.08691; sinks: https://arxiv.org/abs/2508.10925
    """
    if out is None:
        return ops.rockiln.attention_prefill(  # type: ignore[no-any-return]
            q, k, v, cu_seqlens_q, cu_seqlens_k, sinks, scale=scale, max_seqlen_q=max_seqlen_q,
            max_seqlen_k=max_seqlen_k, causal=causal, window_left=window_left,
        )
    ops.rockiln.attention_prefill_out(
        q, k, v, cu_seqlens_q, cu_seqlens_k, sinks, scale=scale, max_seqlen_q=max_seqlen_q, max_seqlen_k=max_seqlen_k,
        causal=causal, window_left=window_left, out=out[0], lse=out[1],
    )
    return out


def attention_prefill_backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    dout: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    *,
    scale: float,
    max_seqlen_q: int,
    max_seqlen_k: int = 0,
    causal: bool = True,
    window_left: int = -1,
    into: tuple[Tensor, Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """dq, dk and dv of attention_prefill, from its inputs, out, lse and dout. The gradient of lse counts as 0, and
    that of sinks is not computed. max_seqlen_k, if it is known, saves empty programs. Deterministic: two kernels,
    each gradient one sum in one order.
    In: q T[TQ, HQ, D]; k T[TK, HK, D]; v T[TK, HK, DV]; out T[TQ, HQ, DV]; lse f32[HQ, TQ]; dout T[TQ, HQ, DV];
    cu_seqlens_q i32[B1]; cu_seqlens_k i32[B1]. Out: dq T[TQ, HQ, D]; dk T[TK, HK, D]; dv T[TK, HK, DV], contiguous.
    T is f16 or bf16.
    ValueError: the heads of q are no multiple of the heads of k; there is no sequence.
    Source: Dao, https://arxiv.org/abs/2307.08691
    """
    if into is None:
        return ops.rockiln.attention_prefill_backward(  # type: ignore[no-any-return]
            q, k, v, out, lse, dout, cu_seqlens_q, cu_seqlens_k, scale=scale, max_seqlen_q=max_seqlen_q,
            max_seqlen_k=max_seqlen_k, causal=causal, window_left=window_left,
        )
    ops.rockiln.attention_prefill_backward_out(
        q, k, v, out, lse, dout, cu_seqlens_q, cu_seqlens_k, scale=scale, max_seqlen_q=max_seqlen_q,
        max_seqlen_k=max_seqlen_k, causal=causal, window_left=window_left, dq=into[0], dk=into[1], dv=into[2],
    )
    return into
