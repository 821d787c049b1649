"""moe_align → torch.ops.rockiln, by name. Made by rockiln_torch.generate of the specs."""

# fmt: off
from __future__ import annotations

from torch import Tensor, ops

__all__ = ["moe_align"]


def moe_align(
    ids: Tensor, *, experts: int, block_size: int, out: tuple[Tensor, Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """A slot is token * top + choice. sorted_slots = the slots by expert, in their own order within one, each expert
    padded to whole blocks with M * top; block_experts = the expert of each block, -1 behind the last; total = slots
    with padding. An id that is no expert's is left out. Deterministic.
    In: ids I[..., M, top]. Out: sorted_slots I[cdiv(M * top + min(experts, M * top) * (block_size - 1), block_size)
    * block_size]; block_experts I[cdiv(M * top + min(experts, M * top) * (block_size - 1), block_size)]; total
    I[1], contiguous.
    I is i32.
    ValueError: experts is not within 1 and 1024; block_size is not positive; there are more than 2^31 slots.
    """
    if out is None:
        return ops.rockiln.moe_align(ids, experts=experts, block_size=block_size)  # type: ignore[no-any-return]
    ops.rockiln.moe_align_out(
        ids, experts=experts, block_size=block_size, sorted_slots=out[0], block_experts=out[1], total=out[2]
    )
    return out
