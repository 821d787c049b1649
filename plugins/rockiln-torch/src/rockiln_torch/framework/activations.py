"""x in f32 → the epilogue of a product: none, silu, gelu, gelu_tanh or swiglu."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from rockiln_torch.framework.gates import apply_gate, gate_gelu, gate_silu

SUFFIXES = ("", "_silu", "_gelu", "_gelu_tanh", "_swiglu")
POINTWISE = {"": ("none", ""), "_silu": ("swish", ""), "_gelu": ("gelu", "none"), "_gelu_tanh": ("gelu", "tanh")}
"""Suffix of an op → what oneDNN calls that epilogue, and its algorithm."""


def activate(x: Tensor, suffix: str, *, interleaved: bool = False) -> Tensor:
    """[..., N], or [..., N / 2] with "_swiglu"."""
    if suffix == "_silu":
        return functional.silu(x)
    if suffix == "_gelu":
        return gate_gelu(x, 1.0)
    if suffix == "_gelu_tanh":
        return functional.gelu(x, approximate="tanh")
    return apply_gate(x, gate_silu, interleaved=interleaved) if suffix == "_swiglu" else x
