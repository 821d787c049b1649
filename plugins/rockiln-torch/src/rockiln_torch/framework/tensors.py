"""A tensor → the same in the type that is computed in, and work cut into rows that stay in a CPU's cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

BLOCK_ELEMENTS = 1 << 16
"""Of x, in one block of rows: what is computed from it in f32 stays in the cache and takes no fresh pages."""


def widen(x: Tensor) -> Tensor:
    """f64 as it is, all else in f32."""
    return x if x.dtype in {torch.float32, torch.float64} else x.float()


def split_last(x: Tensor, count: int, size: int) -> Tensor:
    """[..., count, size] of x [..., count * size]; where there is nothing, too."""
    return x.reshape(*x.shape[:-1], count, size)


def needs_gradient(*tensors: Tensor | None) -> bool:
    """Whether autograd must be able to follow; else results may be written in place."""
    return torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)


def compute_rows(
    function: Callable[..., tuple[Tensor, ...]], rows: Sequence[Tensor], outputs: Sequence[tuple[int, torch.dtype]]
) -> tuple[Tensor, ...]:
    """`function` of blocks of rows, put together.

    `rows` are [..., N] with the same leading dims; the function gives for a block [R, N] of each one tensor [R, W] an
    output, in any dtype; `outputs` are (W, dtype of the result). W = 0: one number a row, [R].
    On a GPU, under autograd and for few elements it is one block.
    """
    lead, first = rows[0].shape[:-1], rows[0]
    if not _is_worth_cutting(rows):
        return tuple(
            part.to(dtype).reshape(*lead, width) for part, (width, dtype) in zip(function(*rows), outputs, strict=True)
        )
    flat = [row.reshape(-1, row.shape[-1]) for row in rows]
    count, step = flat[0].shape[0], max(1, BLOCK_ELEMENTS // max(1, first.shape[-1]))
    results = [first.new_empty((count, width), dtype=dtype) for width, dtype in outputs]
    for start in range(0, count, step):
        parts = function(*(row[start : start + step] for row in flat))
        for result, part in zip(results, parts, strict=True):
            result[start : start + step].copy_(part)
    return tuple(result.reshape(*lead, *result.shape[1:]) for result in results)


def _is_worth_cutting(rows: Sequence[Tensor]) -> bool:
    return rows[0].device.type == "cpu" and rows[0].numel() > BLOCK_ELEMENTS and not needs_gradient(*rows)
