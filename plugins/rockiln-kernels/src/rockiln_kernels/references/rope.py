"""rope and its gradient in float64."""

from __future__ import annotations

import numpy as np

from rockiln_kernels.references.arrays import Array, Arrays, Scalars, widen


def _rotate(x: Array, cos: Array, sin: Array, *, interleaved: bool) -> Array:
    """x [L, H, D] by cos and sin [L, R]."""
    half = cos.shape[-1]
    first = slice(0, 2 * half, 2) if interleaved else slice(0, half)
    second = slice(1, 2 * half, 2) if interleaved else slice(half, 2 * half)
    a, b, c, s = x[..., first], x[..., second], cos[:, None, :], sin[:, None, :]
    y = x.copy()
    with np.errstate(invalid="ignore"):
        y[..., first], y[..., second] = a * c - b * s, b * c + a * s
    return y


def rope(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"y"} of x [L, H, D], cos and sin [P, R], positions [L]."""
    cos, sin = (widen(arrays[name])[arrays["positions"]] for name in ("cos", "sin"))
    return {"y": _rotate(widen(arrays["x"]), cos, sin, interleaved=scalars["interleaved"])}


def rope_backward(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"dx"} of dy [L, H, D]."""
    cos, sin = (widen(arrays[name])[arrays["positions"]] for name in ("cos", "sin"))
    return {"dx": _rotate(widen(arrays["dy"]), cos, -sin, interleaved=scalars["interleaved"])}


REFERENCES = {"rope": rope, "rope_backward": rope_backward}
