"""A gate and its slope in float64 → the references of its *_and_mul family."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rockiln_kernels.references.arrays import Array, Arrays, Reference, Scalars, widen
from rockiln_kernels.references.narrow import quantise_fp8, quantise_mx

Gate = Callable[[Array, float], Array]


def sigmoid(value: Array) -> Array:
    """1 / (1 + exp(-value)), without overflow warnings."""
    with np.errstate(over="ignore"):
        result: Array = 1.0 / (1.0 + np.exp(-value))
    return result


def _split(x: Array, scalars: Scalars) -> tuple[Array, Array]:
    if scalars["interleaved"]:
        return x[..., 0::2], x[..., 1::2]
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:]


def _cut(gate: Array, up: Array, limit: float) -> tuple[Array, Array]:
    if limit <= 0:
        return gate, up
    return np.minimum(gate, limit), np.clip(up, -limit, limit)


def make_gate_references(family: str, gate: Gate, slope: Gate) -> Mapping[str, Reference]:
    """FAMILY, FAMILY_fp8, FAMILY_mxfp4 and FAMILY_backward of `gate` and its derivative `slope`."""

    def multiply(arrays: Arrays, scalars: Scalars) -> Array:
        g, u = _cut(*_split(widen(arrays["x"]), scalars), scalars["limit"])
        with np.errstate(invalid="ignore"):
            result: Array = gate(g, scalars.get("alpha", 1.0)) * (u + scalars.get("up_offset", 0.0))
        return result

    def forward(arrays: Arrays, scalars: Scalars) -> Arrays:
        return {"y": multiply(arrays, scalars)}

    def forward_fp8(arrays: Arrays, scalars: Scalars) -> Arrays:
        return quantise_fp8(multiply(arrays, scalars), scalars["Q"], group=128)

    def forward_mxfp4(arrays: Arrays, scalars: Scalars) -> Arrays:
        return quantise_mx(multiply(arrays, scalars), "e2m1")

    def backward(arrays: Arrays, scalars: Scalars) -> Arrays:
        g, u = _split(widen(arrays["x"]), scalars)
        limit, alpha = scalars["limit"], scalars.get("alpha", 1.0)
        cut_g, cut_u = _cut(g, u, limit)
        dy = widen(arrays["dy"])
        dg = dy * (cut_u + scalars.get("up_offset", 0.0)) * slope(cut_g, alpha)
        du = dy * gate(cut_g, alpha)
        dg, du = np.where((limit > 0) & (g > limit), 0.0, dg), np.where((limit > 0) & (np.abs(u) > limit), 0.0, du)
        if scalars["interleaved"]:
            return {"dx": np.stack([dg, du], axis=-1).reshape(arrays["x"].shape)}
        return {"dx": np.concatenate([dg, du], axis=-1)}

    return {
        family: forward,
        f"{family}_fp8": forward_fp8,
        f"{family}_mxfp4": forward_mxfp4,
        f"{family}_backward": backward,
    }
