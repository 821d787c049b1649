"""Names of arrays and dims → what a call of an op may hold there: dims that kernels are compiled for, indices in range.

Names mean the same in every spec: `ids` are experts, `block_tables` blocks of a cache, u8 arrays codes or E8M0 scales.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rockiln_kernels.expressions import Value

Array = np.ndarray[Any, Any]
Names = Mapping[str, Value]

DIMS: Mapping[str, tuple[int, ...]] = {
    "W": (576,), "D": (64, 80, 128, 192, 256, 512), "DV": (64, 80, 128), "HQ": (8,), "HK": (2, 8), "H": (4, 16),
    "B": (2, 4), "B1": (3, 5), "BS": (16,), "MB": (2, 8), "NB": (16, 32), "L": (1, 4, 64), "E": (8, 64, 256, 1024),
    "top": (2, 4), "P": (64,), "R": (16, 32, 64, 128), "SA": (1,), "SB": (1,),
}  # fmt: skip
"""Sizes to draw from; other dims are powers of two."""
_NAN_CODE, _ONE = 0x7F, np.uint8(0x38)


def make_scalar(name: str, names: Names) -> Value | None:
    """A value of a scalar that has no default; None if none is known."""
    size = names.get("D", names.get("W", 1))
    known: Mapping[str, Value] = {
        "scale": float(size) ** -0.5,
        "max_seqlen_q": names.get("TQ", 0),
        "top": min(4, int(names.get("E", 4))),
        "experts": 16,
        "block_size": 32,
    }
    return known.get(name)


def make_indices(name: str, shape: tuple[int, ...], names: Names, generator: np.random.Generator) -> Array | None:
    """The i32 array `name`; None if no way to make it is known."""
    if name.startswith("cu_seqlens_"):
        total, parts = int(names[f"T{name[-1].upper()}"]), shape[0] - 1
        result: Array = np.arange(shape[0]) * total // parts
    elif name == "positions":
        result = generator.integers(0, int(names["P"]), shape)
    elif name == "block_tables":
        result = generator.integers(0, int(names["NB"]), shape)
    elif name == "context_lens":
        most = int(names["MB"]) * int(names["BS"])
        result = generator.integers(min(int(names["L"]), most), most + 1, shape)
    elif name == "ids":
        experts = int(names.get("E", names.get("experts", 1)))
        result = np.argsort(generator.random((shape[0], max(experts, shape[1]))), axis=1)[:, : shape[1]]
    else:
        return None
    return result.astype(np.int32)


def make_codes(name: str, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    """The u8 array `name`: E8M0 scales around 1, or codes of a narrow format, without e4m3's NaN."""
    if name.endswith("_scale"):
        return generator.integers(122, 130, shape).astype(np.uint8)
    codes = generator.integers(0, 256, shape).astype(np.uint8)
    return np.where((codes & _NAN_CODE) == _NAN_CODE, _ONE, codes)
