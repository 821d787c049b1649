"""gelu_tanh_and_mul's family in float64."""

from __future__ import annotations

import math

from rockiln_kernels.references.arrays import Array
from rockiln_kernels.references.gates import make_gate_references, sigmoid

_TWICE_ROOT = 2.0 * math.sqrt(2.0 / math.pi)


def _gate(value: Array, _alpha: float) -> Array:
    return value * sigmoid(_TWICE_ROOT * (value + 0.044715 * value**3))


def _slope(value: Array, _alpha: float) -> Array:
    part = sigmoid(_TWICE_ROOT * (value + 0.044715 * value**3))
    return part + value * part * (1.0 - part) * _TWICE_ROOT * (1.0 + 3.0 * 0.044715 * value**2)


REFERENCES = make_gate_references("gelu_tanh_and_mul", _gate, _slope)
