"""gemm_fp8's families in float64."""

from __future__ import annotations

from functools import partial

import numpy as np

from rockiln_kernels.references.arrays import Array, Arrays, widen
from rockiln_kernels.references.decoded_gemm import SUFFIXES, make_reference


def scale_rows(values: Array, scale: Array) -> Array:
    """values [R, K] times one scale, or one a row."""
    return values * widen(scale)[:, None]


def scale_blocks(values: Array, scale: Array, rows: int) -> Array:
    """values [R, K] times scale [R / rows, K / 128], each of which counts for a block of them."""
    wide = np.repeat(np.repeat(widen(scale), rows, axis=0), 128, axis=1)
    result: Array = values * wide[: values.shape[0], : values.shape[1]]
    return result


def scale_inputs(arrays: Arrays, *, is_block: bool) -> tuple[Array, Array]:
    """a and b in float64, scaled."""
    a, b = widen(arrays["a"]), widen(arrays["b"])
    if is_block:
        return scale_blocks(a, arrays["a_scale"], 1), scale_blocks(b, arrays["b_scale"], 128)
    return scale_rows(a, arrays["a_scale"]), scale_rows(b, arrays["b_scale"])


REFERENCES = {
    f"gemm_fp8{'_block' if is_block else ''}{suffix}": make_reference(suffix, partial(scale_inputs, is_block=is_block))
    for is_block in (False, True)
    for suffix in SUFFIXES
}
