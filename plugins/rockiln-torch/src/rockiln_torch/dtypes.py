"""rockiln's names of dtypes ↔ torch's."""

from __future__ import annotations

import torch

TORCH_DTYPES = {
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
    "e4m3fnuz": torch.float8_e4m3fnuz,
    "e5m2fnuz": torch.float8_e5m2fnuz,
    "u8": torch.uint8,
    "i32": torch.int32,
    "i64": torch.int64,
}
NAMES = {dtype: name for name, dtype in TORCH_DTYPES.items()}
FLOATS = frozenset({"f32", "f16", "bf16"})
"""What an axis of ordinary numbers has members of; on any device without kernels such an axis takes WIDE, too."""
WIDE = frozenset({torch.float32, torch.float64})


def name_dtype(dtype: torch.dtype) -> str:
    """rockiln's name, or torch's where rockiln has none ("float64")."""
    return NAMES.get(dtype, str(dtype).removeprefix("torch."))
