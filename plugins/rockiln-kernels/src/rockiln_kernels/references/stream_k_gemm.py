"""stream_k_gemm in float64."""

from __future__ import annotations

from rockiln_kernels.references.arrays import Arrays, Scalars
from rockiln_kernels.references.gemm import multiply


def stream_k_gemm(arrays: Arrays, _scalars: Scalars) -> Arrays:
    """{"out" [M, N]} of a [M, K] and b [N, K]."""
    return {"out": multiply(arrays["a"], arrays["b"])}


REFERENCES = {"stream_k_gemm": stream_k_gemm}
