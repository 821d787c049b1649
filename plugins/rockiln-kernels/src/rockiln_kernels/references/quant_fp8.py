"""quant_fp8's family by tables of values."""

from __future__ import annotations

import numpy as np

from rockiln_kernels.references.arrays import Arrays, Scalars, widen
from rockiln_kernels.references.narrow import apply_scale, largest_magnitude, quantise_fp8, scale_fp8


def quant_fp8_token(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"q", "q_scale"}: one scale a row."""
    return quantise_fp8(widen(arrays["x"]), scalars["Q"])


def quant_fp8_group(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"q", "q_scale"}: one scale for 128 values of a row."""
    return quantise_fp8(widen(arrays["x"]), scalars["Q"], group=128)


def quant_fp8_tensor(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"q", "q_scale"}: one scale for all."""
    x = widen(arrays["x"])
    scale = scale_fp8(largest_magnitude(x.reshape(1, -1)), scalars["Q"])
    return {"q": apply_scale(x, scale, scalars["Q"]), "q_scale": scale}


def quant_fp8_static(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"q"} by the scale that is given."""
    return {"q": apply_scale(widen(arrays["x"]), arrays["scale"], scalars["Q"])}


def quant_fp8_block(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"q", "q_scale"}: one scale for 128 x 128 values."""
    x = widen(arrays["x"])
    rows, columns = x.shape
    down, across = -(-rows // 128), -(-columns // 128)
    padded = np.zeros((down * 128, across * 128))
    padded[:rows, :columns] = x
    blocks = padded.reshape(down, 128, across, 128).transpose(0, 2, 1, 3).reshape(down, across, -1)
    scale = scale_fp8(largest_magnitude(blocks), scalars["Q"])
    whole = np.repeat(np.repeat(scale, 128, axis=0), 128, axis=1)[:rows, :columns]
    return {"q": apply_scale(x, whole, scalars["Q"]), "q_scale": scale}


REFERENCES = {
    "quant_fp8_token": quant_fp8_token,
    "quant_fp8_tensor": quant_fp8_tensor,
    "quant_fp8_group": quant_fp8_group,
    "quant_fp8_block": quant_fp8_block,
    "quant_fp8_static": quant_fp8_static,
}
