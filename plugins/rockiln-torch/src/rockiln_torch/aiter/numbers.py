"""AITER's two enumerations, for callers that have no AITER. Values: csrc/include/aiter_enum.h, ROCm/aiter e4048607."""

from __future__ import annotations

from enum import IntEnum


class ActivationType(IntEnum):
    """Of fused_moe."""

    No = -1
    Silu = 0
    Gelu = 1
    Swiglu = 2
    Situv2 = 3


class QuantType(IntEnum):
    """How operands are scaled."""

    No = 0
    per_Tensor = 1
    per_Token = 2
    per_1x32 = 3
    per_1x128 = 4
    per_128x128 = 5
    per_256x128 = 6
    per_1024x128 = 7


def read_number(value: object) -> int:
    """The number of a member of these, of AITER's own enumeration of the same name, or of an int."""
    number = getattr(value, "value", value)
    return int(number)  # type: ignore[call-overload,no-any-return]  # AITER's enum is pybind's
