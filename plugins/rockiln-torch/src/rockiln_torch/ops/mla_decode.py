"""mla_decode and 1 more → torch.ops.rockiln, by name. Made by rockiln_torch.generate of the specs."""

# fmt: off
from __future__ import annotations

from torch import Tensor, ops

__all__ = ["mla_decode", "mla_decode_fp8"]


def mla_decode(
    q: Tensor,
    cache: Tensor,
    block_tables: Tensor,
    context_lens: Tensor,
    *,
    scale: float,
    splits: int = 8,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """out = softmax(scale * q c^T) c[:, :512] over the context_lens tokens c of each sequence, which lie in the cache
    blocks that its row of block_tables names; lse = log of the softmax's sum. The L queries are the newest tokens,
    and see no later one. Any number of heads and queries. A query that sees nothing gives 0, and lse -inf. Tokens
    are cut into splits, added up in order by a second kernel: deterministic, and the same for any batch as long as
    splits is.
    In: q T[B, L, H, W]; cache T[NB, BS, W]; block_tables i32[B, MB]; context_lens i32[B]. Out: out T[B, L, H, 512];
    lse f32[B, L, H], contiguous.
    T is f16 or bf16.
    ValueError: q is not 512 + 64 wide; splits is not positive; a block of the cache holds no token.
    Source: DeepSeek-V2, https://arxiv.org/abs/2405.04434
    """
    if out is None:
        return ops.rockiln.mla_decode(  # type: ignore[no-any-return]
            q, cache, block_tables, context_lens, scale=scale, splits=splits
        )
    ops.rockiln.mla_decode_out(q, cache, block_tables, context_lens, scale=scale, splits=splits, out=out[0], lse=out[1])
    return out


def mla_decode_fp8(
    q: Tensor,
    cache: Tensor,
    block_tables: Tensor,
    context_lens: Tensor,
    cache_scale: Tensor,
    *,
    scale: float,
    splits: int = 8,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """The cache holds c / cache_scale in fp8. out = softmax(scale * q c^T) c[:, :512] over the context_lens tokens c
    of each sequence, which lie in the cache blocks that its row of block_tables names; lse = log of the softmax's
    sum. The L queries are the newest tokens, and see no later one. Any number of heads and queries. A query that
    sees nothing gives 0, and lse -inf. Tokens are cut into splits, added up in order by a second kernel:
    deterministic, and the same for any batch as long as splits is.
    In: q T[B, L, H, W]; cache Q[NB, BS, W]; block_tables i32[B, MB]; context_lens i32[B]; cache_scale f32[1]. Out:
    out T[B, L, H, 512]; lse f32[B, L, H], contiguous.
    T is f16 or bf16; Q is e4m3 or e4m3fnuz.
    ValueError: q is not 512 + 64 wide; splits is not positive; a block of the cache holds no token.
    Source: DeepSeek-V2, https://arxiv.org/abs/2405.04434
    """
    if out is None:
        return ops.rockiln.mla_decode_fp8(  # type: ignore[no-any-return]
            q, cache, block_tables, context_lens, cache_scale, scale=scale, splits=splits
        )
    ops.rockiln.mla_decode_fp8_out(
        q, cache, block_tables, context_lens, cache_scale, scale=scale, splits=splits, out=out[0], lse=out[1]
    )
    return out
