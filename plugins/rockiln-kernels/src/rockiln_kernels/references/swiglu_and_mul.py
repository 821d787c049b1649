"""swiglu_and_mul's family in float64."""

from __future__ import annotations

from rockiln_kernels.references.arrays import Array
from rockiln_kernels.references.gates import make_gate_references, sigmoid


def _gate(value: Array, alpha: float) -> Array:
    return value * sigmoid(alpha * value)


def _slope(value: Array, alpha: float) -> Array:
    part = sigmoid(alpha * value)
    return part * (1.0 + alpha * value * (1.0 - part))


REFERENCES = make_gate_references("swiglu_and_mul", _gate, _slope)
