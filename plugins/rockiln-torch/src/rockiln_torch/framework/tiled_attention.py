"""q, k, v in bf16 of one sequence → softmax attention by the library's kernel for CPUs with AMX."""

from __future__ import annotations

import ctypes
from ctypes import c_float, c_int32, c_int64, c_void_p
from functools import lru_cache

import torch
from torch import Tensor

from rockiln_torch.framework.tensors import needs_gradient
from rockiln_torch.native import open_library

LARGEST_WIDTH = 256
"""Of a head; a multiple of TILE_WIDTH."""
TILE_WIDTH = 32
_Strides = c_int64 * 2


class _Attention(ctypes.Structure):
    """As native/library.h has it."""

    _fields_ = (
        *((name, c_void_p) for name in ("q", "k", "v", "sinks", "out", "lse")),
        *((name, c_int64) for name in ("heads", "groups", "queries", "keys", "width", "value_width")),
        *((name, _Strides) for name in ("q_strides", "k_strides", "v_strides", "out_strides")),
        ("window_left", c_int64),
        ("scale", c_float),
        ("causal", c_int32),
    )


@lru_cache(maxsize=1)
def _has_tiles() -> bool:
    return bool(open_library().rockiln_torch_has_attention())


def takes_tiles(q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None) -> bool:
    """Whether attend_by_tiles computes it, on a CPU, of finite numbers."""
    widths = {part.shape[2] for part in (q, k, v)}
    is_whole = all(0 < width <= LARGEST_WIDTH and width % TILE_WIDTH == 0 for width in widths)
    is_narrow = q.dtype == k.dtype == v.dtype == torch.bfloat16
    return is_narrow and is_whole and _has_tiles() and not needs_gradient(q, k, v, sinks)


def attend_by_tiles(
    q: Tensor, k: Tensor, v: Tensor, scale: float, sinks: Tensor | None, *, causal: bool, window_left: int
) -> tuple[Tensor, Tensor] | None:
    """out [H, L, DV] in bf16 and lse [H, L]; q [H, L, D], k [HK, S, D], v [HK, S, DV]. None if there is no memory."""
    q, k, v = (part if part.stride(2) == 1 else part.contiguous() for part in (q, k, v))
    out = q.new_empty(q.shape[1], q.shape[0], v.shape[2]).transpose(0, 1)
    lse = q.new_empty(q.shape[:2], dtype=torch.float32)
    own = None if sinks is None else sinks.to(torch.float32).contiguous()
    stated = _Attention(
        *(part.data_ptr() for part in (q, k, v)), 0 if own is None else own.data_ptr(), out.data_ptr(), lse.data_ptr(),
        q.shape[0], k.shape[0], q.shape[1], k.shape[1], q.shape[2], v.shape[2],
        *(_Strides(*part.stride()[:2]) for part in (q, k, v, out)),
        window_left, scale, causal,
    )  # fmt: skip
    return (out, lse) if open_library().rockiln_torch_attend(ctypes.byref(stated)) else None
