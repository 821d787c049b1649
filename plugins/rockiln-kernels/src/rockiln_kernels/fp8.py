"""An fp8 dtype + arch → the constants of the kernels that round to it, and the type of the pointers they store to."""

from __future__ import annotations

from rockiln_kernels.archs import Arch
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.variant import Constant

BIASES = {"e4m3": 7, "e5m2": 15, "e4m3fnuz": 8, "e5m2fnuz": 16}
"""Exponent biases; sources as in dtypes.py."""


def is_software(dtype: str, arch: Arch) -> bool:
    """Whether `arch` has no instructions that read `dtype`."""
    return not arch.has_fp8 or dtype not in arch.fp8


def rounds_in_software(dtype: str, arch: Arch) -> bool:
    """Whether kernels round to `dtype` themselves, for want of a conversion on `arch` that rounds once."""
    return not arch.rounds_fp8 or dtype not in arch.fp8


def fp8_constants(dtype: str, arch: Arch) -> tuple[tuple[str, Constant], ...]:
    """SOFTWARE, MAN, BIAS, FNUZ and LIMIT, as ops/narrow.py takes them to round."""
    return (
        ("SOFTWARE", rounds_in_software(dtype, arch)),
        ("MAN", DTYPES[dtype].mantissa_bits),
        ("BIAS", BIASES[dtype]),
        ("FNUZ", dtype.endswith("fnuz")),
        ("LIMIT", DTYPES[dtype].maximum),
    )


def fp8_pointer_dtype(dtype: str, arch: Arch) -> str:
    """Of an array that is read: u8 where software decodes it, since Triton refuses fp8 on some of those archs."""
    return "u8" if is_software(dtype, arch) else dtype


def fp8_output_dtype(dtype: str, arch: Arch) -> str:
    """Of an array that is written: u8 where the bytes are computed in software."""
    return "u8" if rounds_in_software(dtype, arch) else dtype
