"""gemm and 4 more → torch.ops.rockiln, by name. Made by rockiln_torch.generate of the specs."""

# fmt: off
from __future__ import annotations

from torch import Tensor, ops

__all__ = ["gemm", "gemm_gelu", "gemm_gelu_tanh", "gemm_silu", "gemm_swiglu"]


def gemm(a: Tensor, b: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """out = x of x = a b^T + bias; sums in f32, each output in one fixed order; gfx90a takes f16 subnormals as 0.
    In: a T[..., M, K]; b T[N, K]; bias T[N] or None. Out: out T[..., M, N], contiguous.
    T is f32 or f16 or bf16.
    ValueError: K is 0: there is nothing to multiply.
    """
    if out is None:
        return ops.rockiln.gemm(a, b, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_out(a, b, bias, out=out)
    return out


def gemm_gelu(a: Tensor, b: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """out = x / 2 * (1 + erf(x / sqrt 2)) of x = a b^T + bias; sums in f32, each output in one fixed order; gfx90a
    takes f16 subnormals as 0.
    In: a T[..., M, K]; b T[N, K]; bias T[N] or None. Out: out T[..., M, N], contiguous.
    T is f32 or f16 or bf16.
    ValueError: K is 0: there is nothing to multiply.
    """
    if out is None:
        return ops.rockiln.gemm_gelu(a, b, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_gelu_out(a, b, bias, out=out)
    return out


def gemm_gelu_tanh(a: Tensor, b: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """out = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) of x = a b^T + bias; sums in f32, each output in one
    fixed order; gfx90a takes f16 subnormals as 0.
    In: a T[..., M, K]; b T[N, K]; bias T[N] or None. Out: out T[..., M, N], contiguous.
    T is f32 or f16 or bf16.
    ValueError: K is 0: there is nothing to multiply.
    """
    if out is None:
        return ops.rockiln.gemm_gelu_tanh(a, b, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_gelu_tanh_out(a, b, bias, out=out)
    return out


def gemm_silu(a: Tensor, b: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """out = x * sigmoid(x) of x = a b^T + bias; sums in f32, each output in one fixed order; gfx90a takes f16
    subnormals as 0.
    In: a T[..., M, K]; b T[N, K]; bias T[N] or None. Out: out T[..., M, N], contiguous.
    T is f32 or f16 or bf16.
    ValueError: K is 0: there is nothing to multiply.
    """
    if out is None:
        return ops.rockiln.gemm_silu(a, b, bias)  # type: ignore[no-any-return]
    ops.rockiln.gemm_silu_out(a, b, bias, out=out)
    return out


def gemm_swiglu(
    a: Tensor, b: Tensor, bias: Tensor | None = None, *, interleaved: bool = False, out: Tensor | None = None
) -> Tensor:
    """out = g * sigmoid(g) * u of x = a b^T + bias, where x holds g, then u, along its last dim, or with interleaved g
    and u in turn; sums in f32, each output in one fixed order; gfx90a takes f16 subnormals as 0.
    In: a T[..., M, K]; b T[N, K]; bias T[N] or None. Out: out T[..., M, N // 2], contiguous.
    T is f32 or f16 or bf16.
    ValueError: K is 0: there is nothing to multiply; N is odd, so b does not hold gate and up.
    Source: Shazeer, https://arxiv.org/abs/2002.05202
    """
    if out is None:
        return ops.rockiln.gemm_swiglu(a, b, bias, interleaved=interleaved)  # type: ignore[no-any-return]
    ops.rockiln.gemm_swiglu_out(a, b, bias, interleaved=interleaved, out=out)
    return out
