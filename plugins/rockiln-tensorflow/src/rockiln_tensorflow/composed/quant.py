"""quant_* and dequant_* → compositions. Q, E and T are names of dtype axes in the specs."""

from __future__ import annotations

from functools import partial

import tensorflow as tf

from rockiln_tensorflow.composed import Composition, Tensor
from rockiln_tensorflow.composed.narrow import (
    apply_scale,
    dequantise_mx,
    find_largest,
    name_fp8,
    quantise_fp8,
    quantise_mx,
    scale_fp8,
    write_fp8,
)
from rockiln_tensorflow.composed.sizes import read_sizes
from rockiln_tensorflow.dtypes import find_dtype


def quant_fp8_token(x: Tensor, *, Q: str) -> tuple[Tensor, ...]:
    """q like x, q_scale [rows]."""
    return quantise_fp8(tf.cast(x, tf.float32), Q)


def quant_fp8_group(x: Tensor, *, Q: str) -> tuple[Tensor, ...]:
    """q like x, q_scale [..., cdiv(N, 128)]."""
    return quantise_fp8(tf.cast(x, tf.float32), Q, group=128)


def quant_fp8_tensor(x: Tensor, *, Q: str) -> tuple[Tensor, ...]:
    """q like x, q_scale [1]."""
    wide = tf.cast(x, tf.float32)
    scale = scale_fp8(find_largest(tf.reshape(wide, [1, -1])), Q)
    return write_fp8(apply_scale(wide, scale, Q), Q), scale


def quant_fp8_block(x: Tensor, *, Q: str) -> tuple[Tensor, ...]:
    """q like x [M, N], q_scale [cdiv(M, 128), cdiv(N, 128)]."""
    rows, columns = read_sizes(x)
    padded = tf.pad(tf.cast(x, tf.float32), [[0, -rows % 128], [0, -columns % 128]])
    tall, broad = read_sizes(padded)
    down, across = tall // 128, broad // 128
    blocks = tf.transpose(tf.reshape(padded, [down, 128, across, 128]), [0, 2, 1, 3])
    scale = scale_fp8(find_largest(tf.reshape(blocks, [down, across, 128 * 128])), Q)
    codes = tf.transpose(apply_scale(blocks, scale[..., None, None], Q), [0, 2, 1, 3])
    return write_fp8(tf.reshape(codes, [tall, broad])[:rows, :columns], Q), scale


def quant_fp8_static(x: Tensor, scale: Tensor, *, Q: str) -> tuple[Tensor, ...]:
    """q like x, by scale [1]."""
    return (write_fp8(apply_scale(tf.cast(x, tf.float32), scale, Q), Q),)


def quant_mx(form: str, x: Tensor, *, E: str = "") -> tuple[Tensor, ...]:
    """q packed, q_scale [..., N / 32]; E is the element format of an op that has several."""
    return quantise_mx(x, E or form)


def dequant_mx(form: str, q: Tensor, q_scale: Tensor, *, T: str, E: str = "") -> tuple[Tensor, ...]:
    """y [..., G * 32] in T; the dtype of fp8 codes tells their format."""
    return (tf.cast(dequantise_mx(q, q_scale, E or name_fp8(q) or form), find_dtype(T)),)


_MX = (("mxfp4", "e2m1"), ("mxfp6", "e2m3"), ("mxfp8", "e4m3"))
COMPOSITIONS: dict[str, Composition] = {
    "quant_fp8_token": quant_fp8_token,
    "quant_fp8_group": quant_fp8_group,
    "quant_fp8_tensor": quant_fp8_tensor,
    "quant_fp8_block": quant_fp8_block,
    "quant_fp8_static": quant_fp8_static,
    **{f"quant_{name}": partial(quant_mx, form) for name, form in _MX},
    **{f"dequant_{name}": partial(dequant_mx, form) for name, form in _MX},
}
