"""AITER's rotary embeddings by cached cos and sin → rope. ROCm/aiter e4048607, aiter/ops/rope.py, pos_encoding.py."""

from __future__ import annotations

import torch
from torch import Tensor

from rockiln_torch import ops
from rockiln_torch.aiter.unsupported import refuse, refuse_others


def rope_cached_fwd(
    input: Tensor,
    cos: Tensor,
    sin: Tensor,
    rotate_style: int,
    reuse_freqs_front_part: bool,
    nope_first: bool,
    transpose_output: bool = False,
) -> Tensor:
    """input [S, B, H, D] turned by rows of cos, sin [S, 1, 1, R] → a new tensor. rotate_style 0: NeoX, 1: GPT-J.

    With transpose_output its memory is [B, S, H, D]. reuse_freqs_front_part must be True, nope_first False.
    """
    _check("rope_cached_fwd", rotate_style, reuse_freqs_front_part, nope_first)
    return _transpose(_rotate(input, cos, sin, _count(input), rotate_style), transpose_output)


def rope_cached_fwd_inplace(
    input: Tensor,
    cos: Tensor,
    sin: Tensor,
    rotate_style: int,
    reuse_freqs_front_part: bool,
    nope_first: bool,
) -> None:
    """The same into `input`."""
    _check("rope_cached_fwd_inplace", rotate_style, reuse_freqs_front_part, nope_first)
    input.copy_(_rotate(input, cos, sin, _count(input), rotate_style))


def rope_cached_positions_fwd(
    input: Tensor,
    cos: Tensor,
    sin: Tensor,
    positions: Tensor,
    rotate_style: int,
    reuse_freqs_front_part: bool,
    nope_first: bool,
    transpose_output: bool = False,
) -> Tensor:
    """rope_cached_fwd by rows positions [S, B] of cos, sin [P, 1, 1, R]."""
    _check("rope_cached_positions_fwd", rotate_style, reuse_freqs_front_part, nope_first)
    return _transpose(_rotate(input, cos, sin, positions, rotate_style), transpose_output)


def rope_cached_positions_fwd_inplace(
    input: Tensor,
    cos: Tensor,
    sin: Tensor,
    positions: Tensor,
    rotate_style: int,
    reuse_freqs_front_part: bool,
    nope_first: bool,
) -> None:
    """The same into `input`."""
    _check("rope_cached_positions_fwd_inplace", rotate_style, reuse_freqs_front_part, nope_first)
    input.copy_(_rotate(input, cos, sin, positions, rotate_style))


def rope_cached_positions_2c_fwd(
    input_x: Tensor,
    input_y: Tensor,
    cos: Tensor,
    sin: Tensor,
    positions: Tensor,
    rotate_style: int,
    reuse_freqs_front_part: bool,
    nope_first: bool,
    transpose_output: bool = False,
) -> tuple[Tensor, Tensor]:
    """rope_cached_positions_fwd of two tensors, queries and keys."""
    _check("rope_cached_positions_2c_fwd", rotate_style, reuse_freqs_front_part, nope_first)
    x, y = (_rotate(item, cos, sin, positions, rotate_style) for item in (input_x, input_y))
    return _transpose(x, transpose_output), _transpose(y, transpose_output)


def rope_cached_positions_2c_fwd_inplace(
    input_x: Tensor,
    input_y: Tensor,
    cos: Tensor,
    sin: Tensor,
    positions: Tensor,
    rotate_style: int,
    reuse_freqs_front_part: bool,
    nope_first: bool,
) -> None:
    """The same into both."""
    _check("rope_cached_positions_2c_fwd_inplace", rotate_style, reuse_freqs_front_part, nope_first)
    for item in (input_x, input_y):
        item.copy_(_rotate(item, cos, sin, positions, rotate_style))


def rope_cached_positions_offsets_2c_fwd_inplace(
    input_x: Tensor,
    input_y: Tensor,
    cos: Tensor,
    sin: Tensor,
    positions: Tensor,
    offsets: Tensor,
    rotate_style: int,
    reuse_freqs_front_part: bool,
    nope_first: bool,
) -> None:
    """The same by rows positions + offsets."""
    _check("rope_cached_positions_offsets_2c_fwd_inplace", rotate_style, reuse_freqs_front_part, nope_first)
    for item in (input_x, input_y):
        item.copy_(_rotate(item, cos, sin, positions + offsets, rotate_style))


def rotary_embedding_fwd(
    positions: Tensor,
    query: Tensor,
    key: Tensor,
    head_size: int,
    cos_cache: Tensor,
    sin_cache: Tensor,
    is_neox: bool,
    is_nope_first: bool,
) -> None:
    """query [T, HQ head_size] and key [T, HK head_size] in place, by rows positions [T] of the caches [P, R]."""
    refuse_others("rotary_embedding_fwd", is_nope_first=(is_nope_first, False))
    for item in (query, key):
        heads = item.view(-1, 1, item.numel() // max(positions.numel() * head_size, 1), head_size)
        item.copy_(_rotate(heads, cos_cache, sin_cache, positions, int(not is_neox)).view(item.shape))


def _check(function: str, rotate_style: int, reuse_freqs_front_part: bool, nope_first: bool) -> None:
    refuse_others(function, nope_first=(nope_first, False))
    if rotate_style not in {0, 1}:
        raise refuse(function, f"rotate_style = {rotate_style} is not supported, only 0 (NeoX) and 1 (GPT-J)")
    if not reuse_freqs_front_part:
        raise refuse(function, "reuse_freqs_front_part = False is not supported: cos and sin with a column a dim")


def _count(x: Tensor) -> Tensor:
    """The position of each row is its place in its sequence."""
    return torch.arange(x.shape[0], dtype=torch.int32, device=x.device)[:, None].expand(x.shape[:2])


def _rotate(x: Tensor, cos: Tensor, sin: Tensor, positions: Tensor, rotate_style: int) -> Tensor:
    cosines, sines = (item.reshape(item.shape[0], item.shape[-1]).float() for item in (cos, sin))
    flat, rows = x.reshape(-1, *x.shape[-2:]), positions.reshape(-1).int()
    return ops.rope(flat, cosines, sines, rows, interleaved=rotate_style == 1).view(x.shape)


def _transpose(x: Tensor, is_asked: bool) -> Tensor:
    return x.transpose(0, 1).contiguous().transpose(0, 1) if is_asked else x
