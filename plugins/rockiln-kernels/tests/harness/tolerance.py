"""Output type and the number of terms → how far a kernel may be from the float64 reference. The only such rule.

    |got - want| <= u |want| (1 + 2^-5) + e (16 + 4 sqrt K) S + s

u is half a step of the output type (2^-8 for bf16), e that of f32, in which kernels compute; K is the number of terms
that are added up; S the sum of their magnitudes, |want| where the case states none; s the least normal f32 plus half
the least number of the output type. 16 stands for the roundings of a formula and of the hardware's exp, rsqrt and
division, each within 2 steps of f32; 4 sqrt(K) is four standard deviations of K independent roundings.
"""

from __future__ import annotations

import numpy as np

from harness.case import Array
from rockiln_kernels.dtypes import DTYPES

_F32_HALF_STEP = 2.0**-24
_LEAST = {"f32": 2.0**-149, "f16": 2.0**-24, "bf16": 2.0**-133}


def allow_error(want: Array, dtype: str, terms: int, magnitude: Array | None) -> Array:
    """The largest |got - want| that is no fault, elementwise, in float64."""
    half_step = 2.0 ** -(DTYPES[dtype].mantissa_bits + 1)
    summed = np.abs(want) if magnitude is None else magnitude
    with np.errstate(invalid="ignore", over="ignore"):
        allowed: Array = half_step * np.abs(want) * (1.0 + 2.0**-5)
        allowed = allowed + _F32_HALF_STEP * (16.0 + 4.0 * np.sqrt(terms)) * summed
    return allowed + 2.0**-126 + _LEAST[dtype] / 2.0
