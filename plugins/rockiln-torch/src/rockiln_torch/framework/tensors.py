"""A tensor → the same in the type that is computed in, and work cut into rows that stay in a CPU's cache."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.autograd import forward_ad

from rockiln_kernels.dispatch.abi import DTYPE_CODES
from rockiln_torch import native
from rockiln_torch.dtypes import TORCH_DTYPES

_CODES = {TORCH_DTYPES[name]: DTYPE_CODES[name] for name in ("f32", "f16", "bf16")}
BLOCK_ELEMENTS = 1 << 16
"""Of x, in one block of rows: what is computed from it in f32 stays in the cache and takes no fresh pages."""


def widen(x: Tensor) -> Tensor:
    """f64 as it is, all else in f32."""
    return x if x.dtype in {torch.float32, torch.float64} else x.float()


def split_last(x: Tensor, count: int, size: int) -> Tensor:
    """[..., count, size] of x [..., count * size]; where there is nothing, too."""
    return x.reshape(*x.shape[:-1], count, size)


def join(parts: list[Tensor], dim: int) -> Tensor:
    """torch.cat without a copy where there is one part."""
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=dim)


def needs_gradient(*tensors: Tensor | None) -> bool:
    """Whether autograd must be able to follow, backward or forward; else results may be written in place."""
    is_kept = torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)
    return is_kept or has_tangent(*tensors)


def has_tangent(*tensors: Tensor | None) -> bool:
    """Whether one is differentiated in forward mode. Outside of it that costs one comparison."""
    if forward_ad._current_level < 0:  # noqa: SLF001  # torch has no other name for it
        return False
    return any(tensor is not None and forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors)


def is_wrapped(tensor: Tensor) -> bool:
    """Whether torch.func follows it; it has no memory of its own then."""
    wrapped: bool = torch._C._functorch.is_functorch_wrapped_tensor(tensor)  # noqa: SLF001  # torch has no other name
    return wrapped


def read_numbers(tensor: Tensor) -> list[int]:
    """The numbers of a vector. Copies them from a GPU. torch before 2.13 has no tolist of what torch.func follows."""
    numbers: list[int] = [number.item() for number in tensor] if is_wrapped(tensor) else tensor.tolist()
    return numbers


def is_finite(*tensors: Tensor) -> bool:
    """Whether every number is finite; now and then False though they are. For CPUs: a GPU would wait."""
    return all(_is_finite(tensor) for tensor in tensors)


def _is_finite(tensor: Tensor) -> bool:
    """By the numbers where they lie side by side, of which a transpose does not matter; else by their sum."""
    code = _CODES.get(tensor.dtype, 0) if type(tensor) is Tensor and tensor.device.type == "cpu" else 0
    is_whole = tensor.is_contiguous() or (tensor.dim() > 1 and tensor.transpose(0, 1).is_contiguous())
    if code and is_whole and not is_wrapped(tensor):
        return native.is_finite(tensor.data_ptr(), tensor.numel(), code)
    return math.isfinite(tensor.detach().sum().item())


def is_worth_cutting(x: Tensor, *others: Tensor) -> bool:
    """Whether rows of x are computed a block at a time: many on a CPU, in a narrow type, and not for autograd."""
    return (
        x.device.type == "cpu"
        and x.element_size() < 4
        and x.numel() > BLOCK_ELEMENTS
        and not needs_gradient(x, *others)
    )


def cut_rows(count: int, width: int) -> Iterator[slice]:
    """Slices of `count` rows of `width` elements, some BLOCK_ELEMENTS each."""
    step = max(1, BLOCK_ELEMENTS // max(1, width))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def compute_rows(function: Callable[..., Tensor], width: int, x: Tensor, *others: Tensor) -> Tensor:
    """`function` of x and others [..., N], all with the same leading dims, [..., width] in the dtype of x.

    The function gives [R, width] in any dtype of R rows of each, or of all at once where cutting is not worth it.
    """
    if not is_worth_cutting(x, *others):
        return function(x, *others).to(x.dtype)
    flat = [row.reshape(-1, row.shape[-1]) for row in (x, *others)]
    result = x.new_empty(flat[0].shape[0], width)
    for rows in cut_rows(flat[0].shape[0], x.shape[-1]):
        result[rows].copy_(function(*(row[rows] for row in flat)))
    return result.view(*x.shape[:-1], width)
