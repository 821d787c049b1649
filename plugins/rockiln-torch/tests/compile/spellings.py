"""What people write for an op: RMS norm and rotary positions as Llama has them in Transformers. x: [B, H, L, 16]."""

from __future__ import annotations

import torch
from torch import Tensor

import rockiln_torch  # noqa: F401  # defines the ops

WEIGHT = torch.linspace(0.5, 1.5, 16)
LENGTHS_ARE_SYMBOLS = "SymInt max_seqlen_q" in str(torch.ops.rockiln.attention_prefill.default._schema)
"""From torch 2.13 on: before that, each length is compiled."""


def llama_norm(x: Tensor) -> Tensor:
    wide = x.to(torch.float32)
    variance = wide.pow(2).mean(-1, keepdim=True)
    return WEIGHT.to(x.dtype) * (wide * torch.rsqrt(variance + 1e-5)).to(x.dtype)


def rotate_half(x: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def turn(x: Tensor) -> Tensor:
    angles = torch.arange(x.shape[2], dtype=torch.float32)[None, :, None] * torch.linspace(0.1, 1.0, 8)
    both = torch.cat((angles, angles), dim=-1)
    cos, sin = both.cos().to(x.dtype).unsqueeze(1), both.sin().to(x.dtype).unsqueeze(1)
    return (x * cos) + (rotate_half(x) * sin)
