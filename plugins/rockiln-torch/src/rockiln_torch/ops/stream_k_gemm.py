"""stream_k_gemm → torch.ops.rockiln, by name. Made by rockiln_torch.generate of the specs."""

# fmt: off
from __future__ import annotations

from torch import Tensor, ops

__all__ = ["stream_k_gemm"]


def stream_k_gemm(a: Tensor, b: Tensor, *, programs: int = 304, out: Tensor | None = None) -> Tensor:
    """out = a b^T by a fixed number of programs that share all steps of all tiles evenly; tiles that several programs
    made are added up by a second kernel, in their order. Sums in f32; deterministic for a given number of programs.
    gfx90a takes f16 subnormals as 0.
    In: a T[..., M, K]; b T[N, K]. Out: out T[..., M, N], contiguous.
    T is f32 or f16 or bf16.
    ValueError: K is 0: there is nothing to multiply; programs is not positive.
    Source: Osama et al., Stream-K, https://arxiv.org/abs/2301.03598
    """
    if out is None:
        return ops.rockiln.stream_k_gemm(a, b, programs=programs)  # type: ignore[no-any-return]
    ops.rockiln.stream_k_gemm_out(a, b, programs=programs, out=out)
    return out
