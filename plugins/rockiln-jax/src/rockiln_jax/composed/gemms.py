"""gemm, gemm_fp8, gemm_mx and stream_k_gemm with their epilogues → compositions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax.numpy as jnp
from jax import Array

from rockiln_jax.composed.gates import apply_gate, gate_gelu, gate_gelu_tanh, gate_silu
from rockiln_jax.composed.narrow import dequantise_mx, narrow, widen
from rockiln_kernels.specs.gemm_mx import FORMATS

GATES = {"_silu": gate_silu, "_gelu": gate_gelu, "_gelu_tanh": gate_gelu_tanh}
SUFFIXES = ("", *GATES, "_swiglu")


def multiply(a: Array, b: Array) -> Array:
    """a b^T of a [..., K] and b [N, K] with sums in f32 (f64 of f64), not rounded."""
    wide = jnp.promote_types(jnp.promote_types(a.dtype, b.dtype), jnp.float32)
    return jnp.einsum("...k,nk->...n", a, b, preferred_element_type=wide, precision="highest")


def activate(x: Array, suffix: str, *, interleaved: bool = False) -> Array:
    """[..., N], or [..., N / 2] with "_swiglu"."""
    if suffix == "_swiglu":
        return apply_gate(x, gate_silu, interleaved=interleaved)
    return GATES[suffix](x, 1.0) if suffix else x


def finish(product: Array, bias: Array | None, suffix: str, *, interleaved: bool = False) -> Array:
    """The epilogue of product + bias, in the product's dtype."""
    value = product if bias is None else product + widen(bias)
    return activate(value, suffix, interleaved=interleaved)


def gemm(suffix: str, a: Array, b: Array, bias: Array | None = None, *, interleaved: bool = False) -> tuple[Array]:
    """out [..., N] like a [..., K]; b [N, K]."""
    return (finish(multiply(a, b), bias, suffix, interleaved=interleaved).astype(a.dtype),)


def stream_k_gemm(a: Array, b: Array, *, programs: int = 304) -> tuple[Array]:  # noqa: ARG001  # of the kernel
    """out [..., N] of a [..., K] and b [N, K]."""
    return (multiply(a, b).astype(a.dtype),)


def gemm_fp8(
    suffix: str, a: Array, b: Array, a_scale: Array, b_scale: Array, bias: Array | None = None, *,
    interleaved: bool = False,
) -> tuple[Array]:  # fmt: skip
    """out [..., N] bf16; a_scale and b_scale hold one number, or one a row."""
    product = multiply(widen(a), widen(b))
    product = product * (a_scale.reshape(*a.shape[:-1], 1) if a_scale.size > 1 else a_scale)
    return (narrow(finish(product * b_scale, bias, suffix, interleaved=interleaved), jnp.bfloat16),)


def widen_blocks(codes: Array, scale: Array, rows: int = 128) -> Array:
    """f32 codes [..., R, K] times scale [..., cdiv(R, rows), cdiv(K, 128)], each of which counts for a block."""
    wide = jnp.repeat(scale, 128, axis=-1)[..., : codes.shape[-1]]
    if rows > 1:
        wide = jnp.repeat(wide, rows, axis=-2)[..., : codes.shape[-2], :]
    return codes.astype(jnp.float32) * wide


def gemm_fp8_block(
    suffix: str, a: Array, b: Array, a_scale: Array, b_scale: Array, bias: Array | None = None, *,
    interleaved: bool = False,
) -> tuple[Array]:  # fmt: skip
    """out [..., N] bf16; a_scale [M, cdiv(K, 128)], b_scale [cdiv(N, 128), cdiv(K, 128)]."""
    wide = widen_blocks(a, a_scale.reshape(*a.shape[:-1], a_scale.shape[-1]), rows=1)
    product = multiply(wide, widen_blocks(b, b_scale))
    return (narrow(finish(product, bias, suffix, interleaved=interleaved), jnp.bfloat16),)


def gemm_mx(base: str, suffix: str, *arrays: Array, interleaved: bool = False) -> tuple[Array]:
    """out [..., N] bf16 of a, (a_scale,) b, b_scale, bias; a or b or both in an MX format."""
    a_format, b_format = FORMATS[base]
    places = list(arrays)
    a = places.pop(0)
    a = widen(a) if a_format == "bf16" else dequantise_mx(a, places.pop(0), a_format)
    b = dequantise_mx(places.pop(0), places.pop(0), b_format)
    bias = places[0] if places else None
    return (narrow(finish(multiply(a, b), bias, suffix, interleaved=interleaved), jnp.bfloat16),)


def _fix_dtype(composition: Callable[..., tuple[Array, ...]]) -> Callable[..., tuple[Array, ...]]:
    """The same, without the axis T, whose only member is bf16."""

    def fixed(*arrays: Array, T: str = "bf16", **words: object) -> tuple[Array, ...]:  # noqa: ARG001
        return composition(*arrays, **words)

    return fixed


COMPOSITIONS: dict[str, Callable[..., tuple[Array, ...]]] = {
    **{f"gemm{suffix}": partial(gemm, suffix) for suffix in SUFFIXES},
    "stream_k_gemm": stream_k_gemm,
    **{f"gemm_fp8{suffix}": partial(gemm_fp8, suffix) for suffix in SUFFIXES},
    **{f"gemm_fp8_block{suffix}": partial(gemm_fp8_block, suffix) for suffix in SUFFIXES},
    **{f"{base}{suffix}": _fix_dtype(partial(gemm_mx, base, suffix)) for base in FORMATS for suffix in SUFFIXES},
}
