"""quant_* and dequant_* → compositions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax.numpy as jnp
from jax import Array

from rockiln_jax.composed.narrow import (
    apply_scale,
    dequantise_mx,
    find_largest,
    quantise_fp8,
    quantise_mx,
    scale_fp8,
)
from rockiln_jax.dtypes import JAX_DTYPES

# Q, E and T are names of dtype axes in the specs


def quant_fp8_token(x: Array, *, Q: str) -> tuple[Array, Array]:
    """q like x, q_scale [rows]."""
    return quantise_fp8(x, Q)


def quant_fp8_group(x: Array, *, Q: str) -> tuple[Array, Array]:
    """q like x, q_scale [..., cdiv(N, 128)]."""
    return quantise_fp8(x, Q, group=128)


def quant_fp8_tensor(x: Array, *, Q: str) -> tuple[Array, Array]:
    """q like x, q_scale [1]."""
    scale = scale_fp8(find_largest(x.reshape(1, -1)), Q)
    return apply_scale(x, scale, Q), scale


def quant_fp8_block(x: Array, *, Q: str) -> tuple[Array, Array]:
    """q like x [M, N], q_scale [cdiv(M, 128), cdiv(N, 128)]."""
    rows, columns = x.shape
    padded = jnp.pad(x, ((0, -rows % 128), (0, -columns % 128)))
    down, across = padded.shape[0] // 128, padded.shape[1] // 128
    blocks = padded.reshape(down, 128, across, 128).transpose(0, 2, 1, 3)
    scale = scale_fp8(find_largest(blocks.reshape(down, across, 128 * 128)), Q)
    codes = apply_scale(blocks, scale[..., None, None], Q).transpose(0, 2, 1, 3).reshape(padded.shape)
    return codes[:rows, :columns], scale


def quant_fp8_static(x: Array, scale: Array, *, Q: str) -> tuple[Array]:
    """q like x, by scale [1]."""
    return (apply_scale(x, scale, Q),)


def quant_mx(form: str, x: Array, *, E: str = "") -> tuple[Array, Array]:
    """q packed, q_scale [..., N / 32]; E is the element format of an op that has several."""
    return quantise_mx(x, E or form)


def dequant_mx(form: str, q: Array, q_scale: Array, *, T: str, E: str = "") -> tuple[Array]:
    """y [..., G * 32] in T; the dtype of fp8 codes tells their format."""
    names = {dtype: name for name, dtype in JAX_DTYPES.items() if name in {"e4m3", "e5m2"}}
    own = E or names.get(q.dtype, form)
    return (dequantise_mx(q, q_scale, own).astype(JAX_DTYPES[T]),)


_MX = (("mxfp4", "e2m1"), ("mxfp6", "e2m3"), ("mxfp8", "e4m3"))
COMPOSITIONS: dict[str, Callable[..., tuple[Array, ...]]] = {
    "quant_fp8_token": quant_fp8_token,
    "quant_fp8_group": quant_fp8_group,
    "quant_fp8_tensor": quant_fp8_tensor,
    "quant_fp8_block": quant_fp8_block,
    "quant_fp8_static": quant_fp8_static,
    **{f"quant_{name}": partial(quant_mx, form) for name, form in _MX},
    **{f"dequant_{name}": partial(dequant_mx, form) for name, form in _MX},
}
