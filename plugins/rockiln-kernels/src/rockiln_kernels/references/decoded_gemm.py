"""A way to read a and b in float64, and an epilogue → the reference of a gemm over inputs that are scaled or coded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rockiln_kernels.references.activation import ACTIVATIONS, silu
from rockiln_kernels.references.arrays import Array, Arrays, Reference, Scalars
from rockiln_kernels.references.gemm import add_bias, multiply, split_pair

SUFFIXES = (*ACTIVATIONS, "_swiglu")


def make_reference(suffix: str, read_inputs: Callable[[Arrays], tuple[Array, Array]]) -> Reference:
    """{"out"} [M, N], or [M, N // 2] with "_swiglu", of what `read_inputs` makes of the arrays, and bias [N]."""

    def gemm(arrays: Arrays, scalars: Scalars) -> Arrays:
        value = add_bias(multiply(*read_inputs(arrays)), arrays)
        if suffix != "_swiglu":
            return {"out": ACTIVATIONS[suffix](value)}
        gate, up = split_pair(value, is_interleaved=bool(scalars["interleaved"]))
        with np.errstate(invalid="ignore"):
            return {"out": silu(gate) * up}

    return gemm
