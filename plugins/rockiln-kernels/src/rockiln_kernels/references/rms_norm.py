"""rms_norm's family in float64."""

from __future__ import annotations

import numpy as np

from rockiln_kernels.references.arrays import Array, Arrays, Scalars, widen
from rockiln_kernels.references.narrow import quantise_fp8, quantise_mx


def _add(arrays: Arrays) -> Array:
    """x, or x + residual rounded to their type, as the unfused ops would have it."""
    if "residual" not in arrays:
        return widen(arrays["x"])
    with np.errstate(invalid="ignore", over="ignore"):
        return widen((widen(arrays["x"]) + widen(arrays["residual"])).astype(arrays["x"].dtype))


def _invert_rms(x: Array, eps: float) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):
        result: Array = 1.0 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)
    return result


def _normalise(arrays: Arrays, scalars: Scalars) -> Array:
    x = _add(arrays)
    with np.errstate(invalid="ignore"):
        result: Array = x * _invert_rms(x, scalars["eps"]) * (widen(arrays["weight"]) + scalars["weight_offset"])
    return result


def _with_residual(arrays: Arrays, outputs: Arrays) -> Arrays:
    return {**outputs, "residual_out": _add(arrays)} if "residual" in arrays else outputs


def rms_norm(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"y"} of x [M, N] and weight [N]; with residual [M, N] also {"residual_out"}."""
    return _with_residual(arrays, {"y": _normalise(arrays, scalars)})


def rms_norm_fp8(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"q", "q_scale"}, fp8 codes and one scale a row."""
    return _with_residual(arrays, quantise_fp8(_normalise(arrays, scalars), scalars["Q"]))


def rms_norm_mxfp4(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"q", "q_scale"}, packed e2m1 and E8M0."""
    return _with_residual(arrays, quantise_mx(_normalise(arrays, scalars), "e2m1"))


def rms_norm_backward(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"dx", "dweight"} of dy and x [M, N], weight [N]."""
    x, dy, weight = widen(arrays["x"]), widen(arrays["dy"]), widen(arrays["weight"]) + scalars["weight_offset"]
    with np.errstate(invalid="ignore"):
        inverse = _invert_rms(x, scalars["eps"])
        weighted = dy * weight
        dx = inverse * (weighted - x * inverse**2 * np.mean(weighted * x, axis=-1, keepdims=True))
        return {"dx": dx, "dweight": np.sum(dy * x * inverse, axis=0)}


REFERENCES = {
    "rms_norm": rms_norm,
    "add_rms_norm": rms_norm,
    "rms_norm_fp8": rms_norm_fp8,
    "add_rms_norm_fp8": rms_norm_fp8,
    "rms_norm_mxfp4": rms_norm_mxfp4,
    "add_rms_norm_mxfp4": rms_norm_mxfp4,
    "rms_norm_backward": rms_norm_backward,
}
