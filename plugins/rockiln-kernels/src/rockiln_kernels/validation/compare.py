"""A kernel's output and the reference's → what is wrong with it, in words; empty if it is right.

    |got - want| <= u |want| (1 + 2^-5) + e (16 + 4 sqrt K) S + s

as the kernels' tests have it, but with S = sqrt(K) max|want|, since the magnitudes that were added up are not at hand.
Kernels that round what they multiply last to the output's type may be 8 u max|want| off beside.
Of outputs in fp8, fp6 and fp4, one in a hundred bytes may differ: the f32 result before can lie on the other side of a
middle.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rockiln_kernels.dtypes import DTYPES

Array = np.ndarray[Any, Any]
CODES_SHARE = 0.01
_F32_HALF_STEP = 2.0**-24
_FLOATS = ("f32", "f16", "bf16")


def find_difference(name: str, dtype: str, got: Array, want: Array, terms: int, *, rounds_inside: bool = False) -> str:
    """`terms`: how many numbers one output is made of, at most; `rounds_inside`: they are rounded to `dtype`, too."""
    if dtype not in _FLOATS:
        differing = np.count_nonzero(got.view(np.uint8) != want.reshape(got.shape).view(np.uint8))
        return f"{name}: {differing} of {got.size} codes differ" if differing > CODES_SHARE * got.size else ""
    exact = want.astype(np.float64).reshape(got.shape)
    half_step = 2.0 ** -(DTYPES[dtype].mantissa_bits + 1)
    largest = float(np.max(np.abs(exact), initial=0.0))
    allowed = half_step * np.abs(exact) * (1.0 + 2.0**-5) + 2.0**-126 + 2.0**-25
    allowed += _F32_HALF_STEP * (16.0 + 4.0 * np.sqrt(terms)) * np.sqrt(terms) * largest
    if rounds_inside:
        allowed += 8.0 * half_step * largest
    with np.errstate(invalid="ignore"):
        wrong = ~(exact == got.astype(np.float64))
    wrong &= ~(np.abs(got.astype(np.float64) - exact) <= allowed)
    if not wrong.any():
        return ""
    place = tuple(int(index) for index in np.argwhere(wrong)[0])
    return f"{name}: {np.count_nonzero(wrong)} of {got.size} are wrong, first {place}: {got[place]}, not {exact[place]}"
