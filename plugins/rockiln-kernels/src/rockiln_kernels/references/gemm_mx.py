"""gemm_mx's families in float64; codes are decoded by table, unlike in the kernels."""

from __future__ import annotations

from functools import partial

import numpy as np

from rockiln_kernels.references.arrays import Array, Arrays, widen
from rockiln_kernels.references.decoded_gemm import SUFFIXES, make_reference
from rockiln_kernels.references.narrow import decode
from rockiln_kernels.specs.gemm_mx import FORMATS


def decode_mx(codes: Array, scale: Array, form: str) -> Array:
    """float64 [R, K] of codes (bytes) and e8m0 scales [R, K / 32]."""
    if form == "e2m1":
        codes = np.stack([codes & 15, codes >> 4], axis=-1).reshape(codes.shape[0], -1)
    power = np.where(scale == 255, np.nan, np.exp2(scale.astype(np.float64) - 127.0))
    result: Array = decode(codes, form).astype(np.float64) * np.repeat(power, 32, axis=1)
    return result


def decode_inputs(base: str, arrays: Arrays) -> tuple[Array, Array]:
    """a and b in float64."""
    a_format, b_format = FORMATS[base]
    a = widen(arrays["a"]) if a_format == "bf16" else decode_mx(arrays["a"], arrays["a_scale"], a_format)
    return a, decode_mx(arrays["b"], arrays["b_scale"], b_format)


REFERENCES = {
    f"{base}{suffix}": make_reference(suffix, partial(decode_inputs, base)) for base in FORMATS for suffix in SUFFIXES
}
