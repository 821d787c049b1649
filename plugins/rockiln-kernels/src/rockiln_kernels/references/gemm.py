"""gemm's family in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rockiln_kernels.references.activation import ACTIVATIONS, silu
from rockiln_kernels.references.arrays import Array, Arrays, Reference, Scalars, widen


def multiply(a: Array, b: Array) -> Array:
    """a · bᵀ, [M, N] float64 of [M, K] and [N, K]."""
    with np.errstate(invalid="ignore", over="ignore"):
        product: Array = widen(a) @ widen(b).T
    return product


def add_bias(product: Array, arrays: Arrays) -> Array:
    """product + bias, where there is one."""
    return product + widen(arrays["bias"]) if "bias" in arrays else product


def split_pair(value: Array, *, is_interleaved: bool) -> tuple[Array, Array]:
    """Gate and up of the last dim: halves, or in turn."""
    if is_interleaved:
        return value[..., 0::2], value[..., 1::2]
    half = value.shape[-1] // 2
    return value[..., :half], value[..., half:]


def gemm_swiglu(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"out"} [M, N // 2] of a [M, K], b [N, K], bias [N]."""
    value = add_bias(multiply(arrays["a"], arrays["b"]), arrays)
    gate, up = split_pair(value, is_interleaved=bool(scalars["interleaved"]))
    with np.errstate(invalid="ignore"):
        return {"out": silu(gate) * up}


def _make_reference(activate: Callable[[Array], Array]) -> Reference:
    def gemm(arrays: Arrays, _scalars: Scalars) -> Arrays:
        return {"out": activate(add_bias(multiply(arrays["a"], arrays["b"]), arrays))}

    return gemm


REFERENCES = {
    **{f"gemm{suffix}": _make_reference(activate) for suffix, activate in ACTIVATIONS.items()},
    "gemm_swiglu": gemm_swiglu,
}
