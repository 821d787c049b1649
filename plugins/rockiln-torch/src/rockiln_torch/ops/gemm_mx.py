"""gemm_mxfp4 and 19 more → torch.ops.rockiln, by name. Made by rockiln_torch.generate of the specs."""

# fmt: off
from __future__ import annotations

from torch import Tensor, ops

__all__ = [
    "gemm_mxfp4", "gemm_mxfp4_gelu", "gemm_mxfp4_gelu_tanh", "gemm_mxfp4_silu", "gemm_mxfp4_swiglu",
    "gemm_mxfp4_weights", "gemm_mxfp4_weights_gelu", "gemm_mxfp4_weights_gelu_tanh", "gemm_mxfp4_weights_silu",
    "gemm_mxfp4_weights_swiglu", "gemm_mxfp8", "gemm_mxfp8_gelu", "gemm_mxfp8_gelu_tanh", "gemm_mxfp8_silu",
    "gemm_mxfp8_swiglu", "gemm_mxfp8_weights", "gemm_mxfp8_weights_gelu", "gemm_mxfp8_weights_gelu_tanh",
    "gemm_mxfp8_weights_silu", "gemm_mxfp8_weights_swiglu",
]


def gemm_mxfp4(
    a: Tensor, a_scale: Tensor, b: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x of x = a b^T + bias; a and b are e2m1 with an e8m0 scale for 32 columns, as quant_mxfp4 and quant_mxfp8
    leave them. Sums in f32, in one order.
    In: a u8[..., M, KH]; a_scale u8[..., M, KH // 16]; b u8[N, KH]; b_scale u8[N, KH // 16]; bias f32[N] or None.
    Out: out T[..., M, N], contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp4(a, a_scale, b, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_mxfp4_out(a, a_scale, b, b_scale, bias, out=out)
    return out


def gemm_mxfp4_gelu(
    a: Tensor, a_scale: Tensor, b: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x / 2 * (1 + erf(x / sqrt 2)) of x = a b^T + bias; a and b are e2m1 with an e8m0 scale for 32 columns, as
    quant_mxfp4 and quant_mxfp8 leave them. Sums in f32, in one order.
    In: a u8[..., M, KH]; a_scale u8[..., M, KH // 16]; b u8[N, KH]; b_scale u8[N, KH // 16]; bias f32[N] or None.
    Out: out T[..., M, N], contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp4_gelu(a, a_scale, b, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_mxfp4_gelu_out(a, a_scale, b, b_scale, bias, out=out)
    return out


def gemm_mxfp4_gelu_tanh(
    a: Tensor, a_scale: Tensor, b: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) of x = a b^T + bias; a and b are e2m1 with an e8m0
    scale for 32 columns, as quant_mxfp4 and quant_mxfp8 leave them. Sums in f32, in one order.
    In: a u8[..., M, KH]; a_scale u8[..., M, KH // 16]; b u8[N, KH]; b_scale u8[N, KH // 16]; bias f32[N] or None.
    Out: out T[..., M, N], contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp4_gelu_tanh(a, a_scale, b, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_mxfp4_gelu_tanh_out(a, a_scale, b, b_scale, bias, out=out)
    return out


def gemm_mxfp4_silu(
    a: Tensor, a_scale: Tensor, b: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x * sigmoid(x) of x = a b^T + bias; a and b are e2m1 with an e8m0 scale for 32 columns, as quant_mxfp4 and
    quant_mxfp8 leave them. Sums in f32, in one order.
    In: a u8[..., M, KH]; a_scale u8[..., M, KH // 16]; b u8[N, KH]; b_scale u8[N, KH // 16]; bias f32[N] or None.
    Out: out T[..., M, N], contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp4_silu(a, a_scale, b, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_mxfp4_silu_out(a, a_scale, b, b_scale, bias, out=out)
    return out


def gemm_mxfp4_swiglu(
    a: Tensor,
    a_scale: Tensor,
    b: Tensor,
    b_scale: Tensor,
    bias: Tensor | None = None,
    *,
    interleaved: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """out = g * sigmoid(g) * u of its g, then u, along the last dim, or interleaved in turn of x = a b^T + bias; a and
    b are e2m1 with an e8m0 scale for 32 columns, as quant_mxfp4 and quant_mxfp8 leave them. Sums in f32, in one
    order.
    In: a u8[..., M, KH]; a_scale u8[..., M, KH // 16]; b u8[N, KH]; b_scale u8[N, KH // 16]; bias f32[N] or None.
    Out: out T[..., M, N // 2], contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block; N is odd, so b does not hold gate and up.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp4_swiglu(  # type: ignore[no-any-return]
            a, a_scale, b, b_scale, bias, interleaved=interleaved
        )
    ops.rockiln.gemm_mxfp4_swiglu_out(a, a_scale, b, b_scale, bias, interleaved=interleaved, out=out)
    return out


def gemm_mxfp4_weights(
    a: Tensor, b: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x of x = a b^T + bias; a is bf16, b e2m1 with an e8m0 scale for 32 columns, as quant_mxfp4 and quant_mxfp8
    leave them. Sums in f32, in one order.
    In: a T[..., M, K]; b u8[N, K // 2]; b_scale u8[N, K // 32]; bias f32[N] or None. Out: out T[..., M, N],
    contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp4_weights(a, b, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_mxfp4_weights_out(a, b, b_scale, bias, out=out)
    return out


def gemm_mxfp4_weights_gelu(
    a: Tensor, b: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x / 2 * (1 + erf(x / sqrt 2)) of x = a b^T + bias; a is bf16, b e2m1 with an e8m0 scale for 32 columns, as
    quant_mxfp4 and quant_mxfp8 leave them. Sums in f32, in one order.
    In: a T[..., M, K]; b u8[N, K // 2]; b_scale u8[N, K // 32]; bias f32[N] or None. Out: out T[..., M, N],
    contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp4_weights_gelu(a, b, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_mxfp4_weights_gelu_out(a, b, b_scale, bias, out=out)
    return out


def gemm_mxfp4_weights_gelu_tanh(
    a: Tensor, b: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) of x = a b^T + bias; a is bf16, b e2m1 with an e8m0
    scale for 32 columns, as quant_mxfp4 and quant_mxfp8 leave them. Sums in f32, in one order.
    In: a T[..., M, K]; b u8[N, K // 2]; b_scale u8[N, K // 32]; bias f32[N] or None. Out: out T[..., M, N],
    contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp4_weights_gelu_tanh(a, b, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_mxfp4_weights_gelu_tanh_out(a, b, b_scale, bias, out=out)
    return out


def gemm_mxfp4_weights_silu(
    a: Tensor, b: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x * sigmoid(x) of x = a b^T + bias; a is bf16, b e2m1 with an e8m0 scale for 32 columns, as quant_mxfp4
    and quant_mxfp8 leave them. Sums in f32, in one order.
    In: a T[..., M, K]; b u8[N, K // 2]; b_scale u8[N, K // 32]; bias f32[N] or None. Out: out T[..., M, N],
    contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp4_weights_silu(a, b, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_mxfp4_weights_silu_out(a, b, b_scale, bias, out=out)
    return out


def gemm_mxfp4_weights_swiglu(
    a: Tensor,
    b: Tensor,
    b_scale: Tensor,
    bias: Tensor | None = None,
    *,
    interleaved: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """out = g * sigmoid(g) * u of its g, then u, along the last dim, or interleaved in turn of x = a b^T + bias; a is
    bf16, b e2m1 with an e8m0 scale for 32 columns, as quant_mxfp4 and quant_mxfp8 leave them. Sums in f32, in one
    order.
    In: a T[..., M, K]; b u8[N, K // 2]; b_scale u8[N, K // 32]; bias f32[N] or None. Out: out T[..., M, N // 2],
    contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block; N is odd, so b does not hold gate and up.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp4_weights_swiglu(  # type: ignore[no-any-return]
            a, b, b_scale, bias, interleaved=interleaved
        )
    ops.rockiln.gemm_mxfp4_weights_swiglu_out(a, b, b_scale, bias, interleaved=interleaved, out=out)
    return out


def gemm_mxfp8(
    a: Tensor, a_scale: Tensor, b: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x of x = a b^T + bias; a and b are e4m3 with an e8m0 scale for 32 columns, as quant_mxfp4 and quant_mxfp8
    leave them. Sums in f32, in one order.
    In: a u8[..., M, K]; a_scale u8[..., M, K // 32]; b u8[N, K]; b_scale u8[N, K // 32]; bias f32[N] or None. Out:
    out T[..., M, N], contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp8(a, a_scale, b, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_mxfp8_out(a, a_scale, b, b_scale, bias, out=out)
    return out


def gemm_mxfp8_gelu(
    a: Tensor, a_scale: Tensor, b: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x / 2 * (1 + erf(x / sqrt 2)) of x = a b^T + bias; a and b are e4m3 with an e8m0 scale for 32 columns, as
    quant_mxfp4 and quant_mxfp8 leave them. Sums in f32, in one order.
    In: a u8[..., M, K]; a_scale u8[..., M, K // 32]; b u8[N, K]; b_scale u8[N, K // 32]; bias f32[N] or None. Out:
    out T[..., M, N], contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp8_gelu(a, a_scale, b, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_mxfp8_gelu_out(a, a_scale, b, b_scale, bias, out=out)
    return out


def gemm_mxfp8_gelu_tanh(
    a: Tensor, a_scale: Tensor, b: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) of x = a b^T + bias; a and b are e4m3 with an e8m0
    scale for 32 columns, as quant_mxfp4 and quant_mxfp8 leave them. Sums in f32, in one order.
    In: a u8[..., M, K]; a_scale u8[..., M, K // 32]; b u8[N, K]; b_scale u8[N, K // 32]; bias f32[N] or None. Out:
    out T[..., M, N], contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp8_gelu_tanh(a, a_scale, b, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_mxfp8_gelu_tanh_out(a, a_scale, b, b_scale, bias, out=out)
    return out


def gemm_mxfp8_silu(
    a: Tensor, a_scale: Tensor, b: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x * sigmoid(x) of x = a b^T + bias; a and b are e4m3 with an e8m0 scale for 32 columns, as quant_mxfp4 and
    quant_mxfp8 leave them. Sums in f32, in one order.
    In: a u8[..., M, K]; a_scale u8[..., M, K // 32]; b u8[N, K]; b_scale u8[N, K // 32]; bias f32[N] or None. Out:
    out T[..., M, N], contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp8_silu(a, a_scale, b, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_mxfp8_silu_out(a, a_scale, b, b_scale, bias, out=out)
    return out


def gemm_mxfp8_swiglu(
    a: Tensor,
    a_scale: Tensor,
    b: Tensor,
    b_scale: Tensor,
    bias: Tensor | None = None,
    *,
    interleaved: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """out = g * sigmoid(g) * u of its g, then u, along the last dim, or interleaved in turn of x = a b^T + bias; a and
    b are e4m3 with an e8m0 scale for 32 columns, as quant_mxfp4 and quant_mxfp8 leave them. Sums in f32, in one
    order.
    In: a u8[..., M, K]; a_scale u8[..., M, K // 32]; b u8[N, K]; b_scale u8[N, K // 32]; bias f32[N] or None. Out:
    out T[..., M, N // 2], contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block; N is odd, so b does not hold gate and up.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp8_swiglu(  # type: ignore[no-any-return]
            a, a_scale, b, b_scale, bias, interleaved=interleaved
        )
    ops.rockiln.gemm_mxfp8_swiglu_out(a, a_scale, b, b_scale, bias, interleaved=interleaved, out=out)
    return out


def gemm_mxfp8_weights(
    a: Tensor, b: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x of x = a b^T + bias; a is bf16, b e4m3 with an e8m0 scale for 32 columns, as quant_mxfp4 and quant_mxfp8
    leave them. Sums in f32, in one order.
    In: a T[..., M, K]; b u8[N, K]; b_scale u8[N, K // 32]; bias f32[N] or None. Out: out T[..., M, N], contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp8_weights(a, b, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_mxfp8_weights_out(a, b, b_scale, bias, out=out)
    return out


def gemm_mxfp8_weights_gelu(
    a: Tensor, b: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x / 2 * (1 + erf(x / sqrt 2)) of x = a b^T + bias; a is bf16, b e4m3 with an e8m0 scale for 32 columns, as
    quant_mxfp4 and quant_mxfp8 leave them. Sums in f32, in one order.
    In: a T[..., M, K]; b u8[N, K]; b_scale u8[N, K // 32]; bias f32[N] or None. Out: out T[..., M, N], contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp8_weights_gelu(a, b, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_mxfp8_weights_gelu_out(a, b, b_scale, bias, out=out)
    return out


def gemm_mxfp8_weights_gelu_tanh(
    a: Tensor, b: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) of x = a b^T + bias; a is bf16, b e4m3 with an e8m0
    scale for 32 columns, as quant_mxfp4 and quant_mxfp8 leave them. Sums in f32, in one order.
    In: a T[..., M, K]; b u8[N, K]; b_scale u8[N, K // 32]; bias f32[N] or None. Out: out T[..., M, N], contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp8_weights_gelu_tanh(a, b, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_mxfp8_weights_gelu_tanh_out(a, b, b_scale, bias, out=out)
    return out


def gemm_mxfp8_weights_silu(
    a: Tensor, b: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x * sigmoid(x) of x = a b^T + bias; a is bf16, b e4m3 with an e8m0 scale for 32 columns, as quant_mxfp4
    and quant_mxfp8 leave them. Sums in f32, in one order.
    In: a T[..., M, K]; b u8[N, K]; b_scale u8[N, K // 32]; bias f32[N] or None. Out: out T[..., M, N], contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp8_weights_silu(a, b, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_mxfp8_weights_silu_out(a, b, b_scale, bias, out=out)
    return out


def gemm_mxfp8_weights_swiglu(
    a: Tensor,
    b: Tensor,
    b_scale: Tensor,
    bias: Tensor | None = None,
    *,
    interleaved: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """out = g * sigmoid(g) * u of its g, then u, along the last dim, or interleaved in turn of x = a b^T + bias; a is
    bf16, b e4m3 with an e8m0 scale for 32 columns, as quant_mxfp4 and quant_mxfp8 leave them. Sums in f32, in one
    order.
    In: a T[..., M, K]; b u8[N, K]; b_scale u8[N, K // 32]; bias f32[N] or None. Out: out T[..., M, N // 2],
    contiguous.
    T is bf16.
    ValueError: K is no multiple of 32, an MX block; N is odd, so b does not hold gate and up.
    Source: OCP Microscaling Formats (MX) Specification 1.0
    """
    if out is None:
        return ops.rockiln.gemm_mxfp8_weights_swiglu(  # type: ignore[no-any-return]
            a, b, b_scale, bias, interleaved=interleaved
        )
    ops.rockiln.gemm_mxfp8_weights_swiglu_out(a, b, b_scale, bias, interleaved=interleaved, out=out)
    return out
