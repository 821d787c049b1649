"""rms_norm's family in float64."""

from __future__ import annotations

import numpy as np

from rockiln_kernels.references.arrays import Array, Arrays, Scalars, widen


def normalise_rows(x: Array, weight: Array, scalars: Scalars) -> Array:
    """x / sqrt(mean(x^2) + eps) * (weight + weight_offset), [M, N] float64."""
    scale = 1.0 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + scalars["eps"])
    result: Array = x * scale * (weight + scalars["weight_offset"])
    return result


def rms_norm(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"y"} of x [M, N] and weight [N]."""
    return {"y": normalise_rows(widen(arrays["x"]), widen(arrays["weight"]), scalars)}


REFERENCES = {"rms_norm": rms_norm}
