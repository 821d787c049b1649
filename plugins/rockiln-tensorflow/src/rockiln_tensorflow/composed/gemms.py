"""gemm, gemm_fp8, gemm_mx and stream_k_gemm with their epilogues → compositions."""

from __future__ import annotations

from functools import partial

import tensorflow as tf

from rockiln_kernels.specs.gemm_mx import FORMATS
from rockiln_tensorflow.composed import Composition, Tensor, cpu
from rockiln_tensorflow.composed.gates import apply_gate, gate_gelu, gate_gelu_tanh, gate_silu
from rockiln_tensorflow.composed.narrow import dequantise_mx, widen
from rockiln_tensorflow.composed.sizes import read_sizes

GATES = {"_silu": gate_silu, "_gelu": gate_gelu, "_gelu_tanh": gate_gelu_tanh}
SUFFIXES = ("", *GATES, "_swiglu")


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """a b^T of a [..., K] and b [N, K] with sums in f32 (f64 of f64), not rounded."""
    wide = widen(a)
    return _multiply_rows(wide, tf.cast(widen(b), wide.dtype))


def multiply_narrow(a: Tensor, b: Tensor) -> Tensor:
    """The same, rounded to a's dtype. TensorFlow's own product of bf16 adds up in f32, and is rounded once."""
    if a.dtype == b.dtype == tf.bfloat16:
        return _multiply_rows(a, b)
    return tf.cast(multiply(a, b), a.dtype)


def _multiply_rows(a: Tensor, b: Tensor) -> Tensor:
    if a.shape.rank == 2:
        return tf.matmul(a, b, transpose_b=True)
    *leading, shared = read_sizes(a)
    product = tf.matmul(tf.reshape(a, [-1, shared]), b, transpose_b=True)
    return tf.reshape(product, [*leading, read_sizes(b)[0]])


def activate(x: Tensor, suffix: str, *, interleaved: bool = False) -> Tensor:
    """[..., N], or [..., N / 2] with "_swiglu"."""
    if suffix == "_swiglu":
        return apply_gate(x, gate_silu, interleaved=interleaved)
    return GATES[suffix](x, 1.0) if suffix else x


def finish(product: Tensor, bias: Tensor | None, suffix: str, *, interleaved: bool = False) -> Tensor:
    """The epilogue of product + bias, in the product's dtype."""
    value = product if bias is None else product + tf.cast(widen(bias), product.dtype)
    return activate(value, suffix, interleaved=interleaved)


def gemm(
    suffix: str, a: Tensor, b: Tensor, bias: Tensor | None = None, *, interleaved: bool = False
) -> tuple[Tensor, ...]:
    """out [..., N] like a [..., K]; b [N, K]."""
    if bias is None and not suffix:
        return (multiply_narrow(a, b),)
    if cpu.serves_products(a, b, bias):
        return (cpu.run_gemm(a, b, bias, suffix, interleaved=interleaved),)
    return (tf.cast(finish(multiply(a, b), bias, suffix, interleaved=interleaved), a.dtype),)


def stream_k_gemm(a: Tensor, b: Tensor, *, programs: int = 304) -> tuple[Tensor, ...]:  # noqa: ARG001  # of the kernel
    """out [..., N] of a [..., K] and b [N, K]."""
    return (multiply_narrow(a, b),)


def widen_like(scale: Tensor, a: Tensor) -> Tensor:
    """In the dtype of a, widened."""
    return tf.cast(scale, tf.float64 if a.dtype == tf.float64 else tf.float32)


def spread_rows(scale: Tensor, a: Tensor) -> Tensor:
    """One number as it is, one a row as [..., 1]; which of them may be known only when it runs."""
    rows, scale = [*read_sizes(a)[:-1], 1], widen_like(scale, a)
    if scale.shape[0] == 1:
        return scale
    return tf.reshape(tf.broadcast_to(scale, [tf.reduce_prod(tf.stack(rows))]), rows)


def gemm_fp8(
    suffix: str, a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor, bias: Tensor | None = None, *,
    interleaved: bool = False,
) -> tuple[Tensor, ...]:  # fmt: skip
    """out [..., N] bf16; a_scale and b_scale hold one number, or one a row."""
    product = multiply(a, b) * spread_rows(a_scale, a) * widen_like(b_scale, a)
    return (tf.cast(finish(product, bias, suffix, interleaved=interleaved), tf.bfloat16),)


def widen_blocks(codes: Tensor, scale: Tensor, rows: int = 128) -> Tensor:
    """f32 codes [..., R, K] times scale [..., cdiv(R, rows), cdiv(K, 128)], each of which counts for a block."""
    *_, tall, broad = read_sizes(codes)
    wide = tf.repeat(scale, 128, axis=-1)[..., :broad]
    if rows > 1:
        wide = tf.repeat(wide, rows, axis=-2)[..., :tall, :]
    return tf.cast(widen(codes), wide.dtype) * wide


def gemm_fp8_block(
    suffix: str, a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor, bias: Tensor | None = None, *,
    interleaved: bool = False,
) -> tuple[Tensor, ...]:  # fmt: skip
    """out [..., N] bf16; a_scale [M, cdiv(K, 128)], b_scale [cdiv(N, 128), cdiv(K, 128)]."""
    own = tf.reshape(a_scale, [*read_sizes(a)[:-1], read_sizes(a_scale)[-1]])
    product = multiply(widen_blocks(a, own, rows=1), widen_blocks(b, b_scale))
    return (tf.cast(finish(product, bias, suffix, interleaved=interleaved), tf.bfloat16),)


def gemm_mx(base: str, suffix: str, *arrays: Tensor, interleaved: bool = False) -> tuple[Tensor, ...]:
    """out [..., N] bf16 of a, (a_scale,) b, b_scale, bias; a or b or both in an MX format."""
    a_format, b_format = FORMATS[base]
    places = list(arrays)
    a = places.pop(0)
    a = widen(a) if a_format == "bf16" else dequantise_mx(a, places.pop(0), a_format)
    b = dequantise_mx(places.pop(0), places.pop(0), b_format)
    bias = places[0] if places else None
    return (tf.cast(finish(multiply(a, b), bias, suffix, interleaved=interleaved), tf.bfloat16),)


def _fix_dtype(composition: Composition) -> Composition:
    """The same, without the axis T, whose only member is bf16."""

    def fixed(*arrays: Tensor, T: str = "bf16", **words: object) -> tuple[Tensor, ...]:  # noqa: ARG001
        return composition(*arrays, **words)

    return fixed


COMPOSITIONS: dict[str, Composition] = {
    **{f"gemm{suffix}": partial(gemm, suffix) for suffix in SUFFIXES},
    "stream_k_gemm": stream_k_gemm,
    **{f"gemm_fp8{suffix}": partial(gemm_fp8, suffix) for suffix in SUFFIXES},
    **{f"gemm_fp8_block{suffix}": partial(gemm_fp8_block, suffix) for suffix in SUFFIXES},
    **{f"{base}{suffix}": _fix_dtype(partial(gemm_mx, base, suffix)) for base in FORMATS for suffix in SUFFIXES},
}
