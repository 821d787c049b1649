"""silu_and_mul's family in float64."""

from __future__ import annotations

from rockiln_kernels.references.arrays import Array
from rockiln_kernels.references.gates import make_gate_references, sigmoid


def _gate(value: Array, _alpha: float) -> Array:
    return value * sigmoid(value)


def _slope(value: Array, _alpha: float) -> Array:
    return sigmoid(value) * (1.0 + value * (1.0 - sigmoid(value)))


REFERENCES = make_gate_references("silu_and_mul", _gate, _slope)
