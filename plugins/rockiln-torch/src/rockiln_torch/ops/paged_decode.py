"""paged_decode and 1 more → torch.ops.rockiln, by name. Made by rockiln_torch.generate of the specs."""

# fmt: off
from __future__ import annotations

from torch import Tensor, ops

__all__ = ["paged_decode", "paged_decode_fp8"]


def paged_decode(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    block_tables: Tensor,
    context_lens: Tensor,
    sinks: Tensor | None = None,
    *,
    scale: float,
    window_left: int = -1,
    splits: int = 8,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """out = softmax(scale * q k^T) v over the context_lens keys of each sequence, which lie in the cache blocks that
    its row of block_tables names; lse = log of the softmax's sum. The L queries are the newest tokens, and see no
    later key; with window_left >= 0 at most that many before their own. A sink is a logit of its own in each sum,
    lse included, without a value. A query that sees no key gives 0, and lse -inf. Keys are cut into splits, added
    up in order by a second kernel: deterministic, and the same for any batch as long as splits is.
    In: q T[B, L, HQ, D]; k_cache T[NB, BS, HK, D]; v_cache T[NB, BS, HK, D]; block_tables i32[B, MB]; context_lens
    i32[B]; sinks f32[HQ] or None. Out: out T[B, L, HQ, D]; lse f32[B, L, HQ], contiguous.
    T is f16 or bf16.
    ValueError: the heads of q are no multiple of the heads of the cache; splits is not positive; a block of the
    cache holds no token.
    Source: Kwon et al., https://arxiv.org/abs/2309.06180
    """
    if out is None:
        return ops.rockiln.paged_decode(  # type: ignore[no-any-return]
            q, k_cache, v_cache, block_tables, context_lens, sinks, scale=scale, window_left=window_left, splits=splits
        )
    ops.rockiln.paged_decode_out(
        q, k_cache, v_cache, block_tables, context_lens, sinks, scale=scale, window_left=window_left, splits=splits,
        out=out[0], lse=out[1],
    )
    return out


def paged_decode_fp8(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    block_tables: Tensor,
    context_lens: Tensor,
    k_scale: Tensor,
    v_scale: Tensor,
    sinks: Tensor | None = None,
    *,
    scale: float,
    window_left: int = -1,
    splits: int = 8,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """The caches hold k / k_scale and v / v_scale in fp8. out = softmax(scale * q k^T) v over the context_lens keys of
    each sequence, which lie in the cache blocks that its row of block_tables names; lse = log of the softmax's sum.
    The L queries are the newest tokens, and see no later key; with window_left >= 0 at most that many before their
    own. A sink is a logit of its own in each sum, lse included, without a value. A query that sees no key gives 0,
    and lse -inf. Keys are cut into splits, added up in order by a second kernel: deterministic, and the same for
    any batch as long as splits is.
    In: q T[B, L, HQ, D]; k_cache Q[NB, BS, HK, D]; v_cache Q[NB, BS, HK, D]; block_tables i32[B, MB]; context_lens
    i32[B]; k_scale f32[1]; v_scale f32[1]; sinks f32[HQ] or None. Out: out T[B, L, HQ, D]; lse f32[B, L, HQ],
    contiguous.
    T is f16 or bf16; Q is e4m3 or e4m3fnuz.
    ValueError: the heads of q are no multiple of the heads of the cache; splits is not positive; a block of the
    cache holds no token.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.paged_decode_fp8(  # type: ignore[no-any-return]
            q, k_cache, v_cache, block_tables, context_lens, k_scale, v_scale, sinks, scale=scale,
            window_left=window_left, splits=splits,
        )
    ops.rockiln.paged_decode_fp8_out(
        q, k_cache, v_cache, block_tables, context_lens, k_scale, v_scale, sinks, scale=scale, window_left=window_left,
        splits=splits, out=out[0], lse=out[1],
    )
    return out
