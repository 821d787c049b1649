"""A dtype's name → its size, and what Triton and ml_dtypes call it. One word per type everywhere in rockiln."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Dtype:
    """One element type.

    `maximum` is the largest finite value; `mantissa_bits` the stored ones, from the OCP 8-bit Floating Point (OFP8)
    specification and, for the fnuz kinds, from https://arxiv.org/abs/2206.02915.
    """

    name: str
    size_bytes: int
    """Of one element by itself; fp6 and fp4 lie packed in u8 arrays."""
    triton: str
    numpy: str
    """Name in NumPy, or in ml_dtypes where NumPy has none."""
    maximum: float = 0.0
    mantissa_bits: int = 0


_ALL = (
    Dtype(name="f32", size_bytes=4, triton="fp32", numpy="float32", maximum=3.4028234663852886e38, mantissa_bits=23),
    Dtype(name="f16", size_bytes=2, triton="fp16", numpy="float16", maximum=65504.0, mantissa_bits=10),
    Dtype(name="bf16", size_bytes=2, triton="bf16", numpy="bfloat16", maximum=3.3895313892515355e38, mantissa_bits=7),
    Dtype(name="e4m3", size_bytes=1, triton="fp8e4nv", numpy="float8_e4m3fn", maximum=448.0, mantissa_bits=3),
    Dtype(name="e5m2", size_bytes=1, triton="fp8e5", numpy="float8_e5m2", maximum=57344.0, mantissa_bits=2),
    Dtype(name="e4m3fnuz", size_bytes=1, triton="fp8e4b8", numpy="float8_e4m3fnuz", maximum=240.0, mantissa_bits=3),
    Dtype(name="e5m2fnuz", size_bytes=1, triton="fp8e5b16", numpy="float8_e5m2fnuz", maximum=57344.0, mantissa_bits=2),
    Dtype(name="e2m3", size_bytes=1, triton="u8", numpy="float6_e2m3fn", maximum=7.5, mantissa_bits=3),
    Dtype(name="e3m2", size_bytes=1, triton="u8", numpy="float6_e3m2fn", maximum=28.0, mantissa_bits=2),
    Dtype(name="e2m1", size_bytes=1, triton="u8", numpy="float4_e2m1fn", maximum=6.0, mantissa_bits=1),
    Dtype(name="u8", size_bytes=1, triton="u8", numpy="uint8"),
    Dtype(name="i32", size_bytes=4, triton="i32", numpy="int32"),
    Dtype(name="i64", size_bytes=8, triton="i64", numpy="int64"),
)
DTYPES = {dtype.name: dtype for dtype in _ALL}
