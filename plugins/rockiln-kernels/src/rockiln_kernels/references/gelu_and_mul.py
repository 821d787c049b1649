"""gelu_and_mul's family in float64."""

from __future__ import annotations

import math

import numpy as np

from rockiln_kernels.references.arrays import Array
from rockiln_kernels.references.gates import make_gate_references


def _normal_distribution(value: Array) -> Array:
    """erfc, and not 1 + erf, so that it stays exact where it is small."""
    result: Array = np.vectorize(lambda item: 0.5 * math.erfc(-item / math.sqrt(2.0)), otypes=[np.float64])(value)
    return result


def _gate(value: Array, _alpha: float) -> Array:
    return value * _normal_distribution(value)


def _slope(value: Array, _alpha: float) -> Array:
    density: Array = np.exp(-0.5 * value * value) / math.sqrt(2.0 * math.pi)
    slope: Array = _normal_distribution(value) + value * density
    return slope


REFERENCES = make_gate_references("gelu_and_mul", _gate, _slope)
