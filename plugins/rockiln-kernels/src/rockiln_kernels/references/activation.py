"""Activations in float64, exact where they are small, silent on NaN and infinity."""

from __future__ import annotations

import math

import numpy as np

from rockiln_kernels.references.arrays import Array


def sigmoid(value: Array) -> Array:
    """1 / (1 + exp(-value)), without overflow."""
    with np.errstate(over="ignore"):
        result: Array = 1.0 / (1.0 + np.exp(-value))
    return result


def silu(value: Array) -> Array:
    """value * sigmoid(value); NaN of -inf, as -inf * 0 is."""
    with np.errstate(invalid="ignore"):
        return value * sigmoid(value)


def gelu(value: Array) -> Array:
    """value times the normal distribution function, by erfc, which is exact where it is small."""
    share: Array = np.vectorize(lambda item: 0.5 * math.erfc(-item / math.sqrt(2.0)), otypes=[np.float64])(value)
    with np.errstate(invalid="ignore"):
        return value * share


def gelu_tanh(value: Array) -> Array:
    """The tanh form of gelu: (1 + tanh z) / 2 is sigmoid(2 z)."""
    with np.errstate(invalid="ignore", over="ignore"):
        return value * sigmoid(2.0 * math.sqrt(2.0 / math.pi) * (value + 0.044715 * value**3))


ACTIVATIONS = {"": lambda value: value, "_silu": silu, "_gelu": gelu, "_gelu_tanh": gelu_tanh}
"""As in specs/gemm.py: what follows "gemm" in an op's name."""
