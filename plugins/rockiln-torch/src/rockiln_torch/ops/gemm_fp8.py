"""gemm_fp8 and 9 more → torch.ops.rockiln, by name. Made by rockiln_torch.generate of the specs."""

# fmt: off
from __future__ import annotations

from torch import Tensor, ops

__all__ = [
    "gemm_fp8", "gemm_fp8_block", "gemm_fp8_block_gelu", "gemm_fp8_block_gelu_tanh", "gemm_fp8_block_silu",
    "gemm_fp8_block_swiglu", "gemm_fp8_gelu", "gemm_fp8_gelu_tanh", "gemm_fp8_silu", "gemm_fp8_swiglu",
]


def gemm_fp8(
    a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x of x = (a a_scale) (b b_scale)^T + bias; scales are one each, or one a row. Sums in f32, in order.
    In: a Q[..., M, K]; b Q[N, K]; a_scale f32[SA]; b_scale f32[SB]; bias f32[N] or None. Out: out bf16[..., M, N],
    contiguous.
    Q is e4m3 or e5m2 or e4m3fnuz or e5m2fnuz.
    ValueError: K is 0: there is nothing to multiply; a_scale has neither one scale nor one a row of a; b_scale has
    neither one scale nor one a row of b.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.gemm_fp8(a, b, a_scale, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_fp8_out(a, b, a_scale, b_scale, bias, out=out)
    return out


def gemm_fp8_block(
    a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x of x = (a a_scale) (b b_scale)^T + bias; scales are one a row of a and 128 columns, and one a block of
    128 x 128 of b. Sums in f32, in order.
    In: a Q[..., M, K]; b Q[N, K]; a_scale f32[M, cdiv(K, 128)]; b_scale f32[cdiv(N, 128), cdiv(K, 128)]; bias
    f32[N] or None. Out: out bf16[..., M, N], contiguous.
    Q is e4m3 or e5m2 or e4m3fnuz or e5m2fnuz.
    ValueError: K is 0: there is nothing to multiply.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.gemm_fp8_block(a, b, a_scale, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_fp8_block_out(a, b, a_scale, b_scale, bias, out=out)
    return out


def gemm_fp8_block_gelu(
    a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x / 2 * (1 + erf(x / sqrt 2)) of x = (a a_scale) (b b_scale)^T + bias; scales are one a row of a and 128
    columns, and one a block of 128 x 128 of b. Sums in f32, in order.
    In: a Q[..., M, K]; b Q[N, K]; a_scale f32[M, cdiv(K, 128)]; b_scale f32[cdiv(N, 128), cdiv(K, 128)]; bias
    f32[N] or None. Out: out bf16[..., M, N], contiguous.
    Q is e4m3 or e5m2 or e4m3fnuz or e5m2fnuz.
    ValueError: K is 0: there is nothing to multiply.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.gemm_fp8_block_gelu(a, b, a_scale, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_fp8_block_gelu_out(a, b, a_scale, b_scale, bias, out=out)
    return out


def gemm_fp8_block_gelu_tanh(
    a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) of x = (a a_scale) (b b_scale)^T + bias; scales are
    one a row of a and 128 columns, and one a block of 128 x 128 of b. Sums in f32, in order.
    In: a Q[..., M, K]; b Q[N, K]; a_scale f32[M, cdiv(K, 128)]; b_scale f32[cdiv(N, 128), cdiv(K, 128)]; bias
    f32[N] or None. Out: out bf16[..., M, N], contiguous.
    Q is e4m3 or e5m2 or e4m3fnuz or e5m2fnuz.
    ValueError: K is 0: there is nothing to multiply.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.gemm_fp8_block_gelu_tanh(a, b, a_scale, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_fp8_block_gelu_tanh_out(a, b, a_scale, b_scale, bias, out=out)
    return out


def gemm_fp8_block_silu(
    a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x * sigmoid(x) of x = (a a_scale) (b b_scale)^T + bias; scales are one a row of a and 128 columns, and one
    a block of 128 x 128 of b. Sums in f32, in order.
    In: a Q[..., M, K]; b Q[N, K]; a_scale f32[M, cdiv(K, 128)]; b_scale f32[cdiv(N, 128), cdiv(K, 128)]; bias
    f32[N] or None. Out: out bf16[..., M, N], contiguous.
    Q is e4m3 or e5m2 or e4m3fnuz or e5m2fnuz.
    ValueError: K is 0: there is nothing to multiply.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.gemm_fp8_block_silu(a, b, a_scale, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_fp8_block_silu_out(a, b, a_scale, b_scale, bias, out=out)
    return out


def gemm_fp8_block_swiglu(
    a: Tensor,
    b: Tensor,
    a_scale: Tensor,
    b_scale: Tensor,
    bias: Tensor | None = None,
    *,
    interleaved: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """out = g * sigmoid(g) * u of its g, then u, along the last dim, or interleaved in turn of x = (a a_scale) (b
    b_scale)^T + bias; scales are one a row of a and 128 columns, and one a block of 128 x 128 of b. Sums in f32, in
    order.
    In: a Q[..., M, K]; b Q[N, K]; a_scale f32[M, cdiv(K, 128)]; b_scale f32[cdiv(N, 128), cdiv(K, 128)]; bias
    f32[N] or None. Out: out bf16[..., M, N // 2], contiguous.
    Q is e4m3 or e5m2 or e4m3fnuz or e5m2fnuz.
    ValueError: K is 0: there is nothing to multiply; N is odd, so b does not hold gate and up.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.gemm_fp8_block_swiglu(  # type: ignore[no-any-return]
            a, b, a_scale, b_scale, bias, interleaved=interleaved
        )
    ops.rockiln.gemm_fp8_block_swiglu_out(a, b, a_scale, b_scale, bias, interleaved=interleaved, out=out)
    return out


def gemm_fp8_gelu(
    a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x / 2 * (1 + erf(x / sqrt 2)) of x = (a a_scale) (b b_scale)^T + bias; scales are one each, or one a row.
    Sums in f32, in order.
    In: a Q[..., M, K]; b Q[N, K]; a_scale f32[SA]; b_scale f32[SB]; bias f32[N] or None. Out: out bf16[..., M, N],
    contiguous.
    Q is e4m3 or e5m2 or e4m3fnuz or e5m2fnuz.
    ValueError: K is 0: there is nothing to multiply; a_scale has neither one scale nor one a row of a; b_scale has
    neither one scale nor one a row of b.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.gemm_fp8_gelu(a, b, a_scale, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_fp8_gelu_out(a, b, a_scale, b_scale, bias, out=out)
    return out


def gemm_fp8_gelu_tanh(
    a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) of x = (a a_scale) (b b_scale)^T + bias; scales are
    one each, or one a row. Sums in f32, in order.
    In: a Q[..., M, K]; b Q[N, K]; a_scale f32[SA]; b_scale f32[SB]; bias f32[N] or None. Out: out bf16[..., M, N],
    contiguous.
    Q is e4m3 or e5m2 or e4m3fnuz or e5m2fnuz.
    ValueError: K is 0: there is nothing to multiply; a_scale has neither one scale nor one a row of a; b_scale has
    neither one scale nor one a row of b.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.gemm_fp8_gelu_tanh(a, b, a_scale, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_fp8_gelu_tanh_out(a, b, a_scale, b_scale, bias, out=out)
    return out


def gemm_fp8_silu(
    a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """out = x * sigmoid(x) of x = (a a_scale) (b b_scale)^T + bias; scales are one each, or one a row. Sums in f32, in
    order.
    In: a Q[..., M, K]; b Q[N, K]; a_scale f32[SA]; b_scale f32[SB]; bias f32[N] or None. Out: out bf16[..., M, N],
    contiguous.
    Q is e4m3 or e5m2 or e4m3fnuz or e5m2fnuz.
    ValueError: K is 0: there is nothing to multiply; a_scale has neither one scale nor one a row of a; b_scale has
    neither one scale nor one a row of b.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.gemm_fp8_silu(a, b, a_scale, b_scale, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_fp8_silu_out(a, b, a_scale, b_scale, bias, out=out)
    return out


def gemm_fp8_swiglu(
    a: Tensor,
    b: Tensor,
    a_scale: Tensor,
    b_scale: Tensor,
    bias: Tensor | None = None,
    *,
    interleaved: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """out = g * sigmoid(g) * u of its g, then u, along the last dim, or interleaved in turn of x = (a a_scale) (b
    b_scale)^T + bias; scales are one each, or one a row. Sums in f32, in order.
    In: a Q[..., M, K]; b Q[N, K]; a_scale f32[SA]; b_scale f32[SB]; bias f32[N] or None. Out: out bf16[..., M, N //
    2], contiguous.
    Q is e4m3 or e5m2 or e4m3fnuz or e5m2fnuz.
    ValueError: K is 0: there is nothing to multiply; a_scale has neither one scale nor one a row of a; b_scale has
    neither one scale nor one a row of b; N is odd, so b does not hold gate and up.
    Source: OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915
    """
    if out is None:
        return ops.rockiln.gemm_fp8_swiglu(  # type: ignore[no-any-return]
            a, b, a_scale, b_scale, bias, interleaved=interleaved
        )
    ops.rockiln.gemm_fp8_swiglu_out(a, b, a_scale, b_scale, bias, interleaved=interleaved, out=out)
    return out
