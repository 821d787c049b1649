"""Ops → what their Autocast keys run: products in the autocast dtype, all else in the widest of its own dtypes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from rockiln_kernels.spec import OpSpec
from rockiln_torch.dtypes import FLOATS

PRODUCTS = ("gemm", "stream_k_gemm", "attention_", "paged_decode", "mla_decode", "fused_moe")
"""How ops begin that torch's autocast would run in the narrow dtype, as it does linear and attention."""
KEYS = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA"}


def list_cast_places(spec: OpSpec) -> tuple[int, ...]:
    """Places of inputs that share an axis of numbers; () if there is nothing to cast."""
    axes = {axis for axis, members in spec.dtype_axes if set(members) <= FLOATS}
    places = tuple(place for place, array in enumerate(spec.inputs) if array.dtype in axes)
    return places if len(places) > 1 or spec.name.startswith(PRODUCTS) else ()


def make_autocast(spec: OpSpec, overload: Any, device: str) -> Callable[..., Any]:
    """The kernel of an op for the Autocast key of "cpu" or "cuda"."""
    places = list_cast_places(spec)
    is_product = spec.name.startswith(PRODUCTS)
    excluded = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, KEYS[device]))  # noqa: SLF001

    def kernel(*args: Any, **kwargs: Any) -> Any:
        numbers = [args[place] for place in places if place < len(args)]
        dtype = torch.get_autocast_dtype(device) if is_product else find_widest(numbers)
        cast = tuple(cast_number(arg, dtype) if place in places else arg for place, arg in enumerate(args))
        with torch._C._ExcludeDispatchKeyGuard(excluded):  # noqa: SLF001
            return overload(*cast, **kwargs)

    return kernel


def find_widest(tensors: Sequence[torch.Tensor | None]) -> torch.dtype:
    """The dtype that torch promotes all of them to."""
    dtypes = [tensor.dtype for tensor in tensors if tensor is not None]
    widest = dtypes[0]
    for dtype in dtypes[1:]:
        widest = torch.promote_types(widest, dtype)
    return widest


def cast_number(tensor: torch.Tensor | None, dtype: torch.dtype) -> torch.Tensor | None:
    """f16, bf16 and f32 to `dtype`; all else, f64 too, stays as it is."""
    if tensor is None or tensor.dtype not in {torch.float16, torch.bfloat16, torch.float32}:
        return tensor
    return tensor.to(dtype)
