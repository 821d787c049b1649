"""fused_moe in float64. h is rounded to the type of x, as the op says."""

from __future__ import annotations

import numpy as np

from rockiln_kernels.references.activation import sigmoid
from rockiln_kernels.references.arrays import Array, Arrays, Scalars, widen
from rockiln_kernels.references.gemm import split_pair


def gate_pair(value: Array, scalars: Scalars) -> Array:
    """The gated half of the last dim."""
    gate, up = split_pair(value, is_interleaved=bool(scalars["interleaved"]))
    if scalars["limit"] > 0:
        gate, up = np.minimum(gate, scalars["limit"]), np.clip(up, -scalars["limit"], scalars["limit"])
    with np.errstate(all="ignore"):
        result: Array = gate * sigmoid(scalars["alpha"] * gate) * (up + scalars["up_offset"])
    return result


def mix_experts(arrays: Arrays, scalars: Scalars, gate_up: Array, down: Array) -> Arrays:
    """{"out" [M, K]} of x and float64 matrices of the experts."""
    x = widen(arrays["x"])
    out = np.zeros(x.shape)
    for token, row in enumerate(arrays["ids"].tolist()):
        for choice, expert in enumerate(row):
            if not 0 <= expert < len(gate_up):
                continue
            with np.errstate(all="ignore"):
                value = gate_up[expert] @ x[token]
                value = value + widen(arrays["gate_up_bias"][expert]) if "gate_up_bias" in arrays else value
                hidden = widen(gate_pair(value, scalars).astype(arrays["x"].dtype))
                part = down[expert] @ hidden
                part = part + widen(arrays["down_bias"][expert]) if "down_bias" in arrays else part
                out[token] += part * arrays["weights"][token, choice]
    return {"out": out}


def fused_moe(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"out" [M, K]} of x, gate_up [E, N2, K], down [E, K, N2 / 2], weights and ids [M, top], biases."""
    return mix_experts(arrays, scalars, widen(arrays["gate_up"]), widen(arrays["down"]))


REFERENCES = {"fused_moe": fused_moe}
